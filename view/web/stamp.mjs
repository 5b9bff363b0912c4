// Writes the hash of the sources beside the build. A test of the crate computes the same hash, and fails where the build is stale.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'

const below = (folder) => readdirSync(folder).map((name) => `${folder}/${name}`)
const files = ['index.html', 'package-lock.json', 'package.json', 'tsconfig.json', 'vite.config.ts', ...below('src'), ...below('public')].sort()
const hash = createHash('sha256')
for (const file of files) {
  const bytes = readFileSync(file)
  hash.update(`${file}\n${bytes.length}\n`)
  hash.update(bytes)
}
writeFileSync('dist/SOURCES', hash.digest('hex') + '\n')
