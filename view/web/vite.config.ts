import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// Names without hashes, since the files are compiled into the server by name. Names inside the code are shortened, but lines stay, so that
// a change of the page can be read as a difference of its build.
export default defineConfig({
  plugins: [svelte({ compilerOptions: { css: 'external' } })],
  build: {
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'app.js',
        chunkFileNames: '[name].js',
        assetFileNames: 'app[extname]',
        minify: { mangle: true, compress: true, codegen: { removeWhitespace: false } },
      },
    },
  },
})
