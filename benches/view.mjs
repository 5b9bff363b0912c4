// What a person waits for in the viewer: `node view.mjs URL ROWS`. `view.py` runs it, and says what is measured. Prints one line of JSON.
import { createRequire } from 'node:module'

const require = createRequire(new URL('../view/web/package.json', import.meta.url))
const { chromium } = require('playwright-core')

const [url, rows] = process.argv.slice(2)
const { origin } = new URL(url)
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
})
const found = {}
const sorted = (values) => [...values].sort((left, right) => left - right)
const percentile = (values, part) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * part))]
const count = (number) => Number(number).toLocaleString('en')

async function opened(path) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 }, bypassCSP: true })).newPage()
  page.setDefaultTimeout(300_000)
  const began = performance.now()
  await page.goto(`${origin}${path}${new URL(url).hash}`)
  return { page, began }
}

/** Waits for a state of the page, looking once a frame, and returns the milliseconds since `act` was called in it. */
const timed = (page, act, check, given) =>
  page.evaluate(
    ([act, check, given]) =>
      new Promise((done) => {
        const [run, look] = [new Function('given', act), new Function('given', check)]
        const began = performance.now()
        run(given)
        const turn = () => (look(given) ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(turn))
        requestAnimationFrame(turn)
      }),
    [act, check, given],
  )
const FILLED = `[...document.querySelectorAll('.line')].slice(0, 15).every((line) => line.children[1].textContent.trim() !== '')`

{
  const { page, began } = await opened('/')
  await page.waitForFunction(`document.querySelectorAll('.line').length > 10 && ${FILLED}`)
  found.first_rows_ms = performance.now() - began
  await page.waitForFunction(() => document.querySelectorAll('.histogram, .values, .range').length >= 12 && !document.querySelector('.progress'))
  found.heads_ms = performance.now() - began
  const pages = []
  for (let turn = 1; turn <= 200; turn++) {
    // Pages that were not shown before, in no order.
    const part = (turn * 0.6180339887) % 1
    pages.push(
      await timed(
        page,
        `globalThis.before = document.querySelector('.line .name').textContent; const grid = document.querySelector('[role=grid]'); grid.scrollTop = given * (grid.scrollHeight - grid.clientHeight)`,
        `return document.querySelector('.line .name').textContent !== globalThis.before && ${FILLED}`,
        part,
      ),
    )
  }
  found.pages_median_ms = percentile(pages, 0.5)
  found.pages_95_ms = percentile(pages, 0.95)
  found.sort_ms = await timed(page, `globalThis.before = document.querySelector('.line .name').textContent; document.querySelector('.heads [role=columnheader]:nth-child(4) .sort').click()`, `return !document.querySelector('[aria-label=working]') && document.querySelector('[aria-sort=ascending]') && ${FILLED}`)
  await page.goto(`${origin}/`)
  await page.waitForFunction(FILLED)
  await page.locator('#sql').fill('c3 > 0.5')
  const filtered = performance.now()
  await page.keyboard.press('Enter')
  await page.waitForFunction((all) => {
    const said = document.querySelector('.filters .number b')?.textContent
    return said && said !== all && !document.querySelector('[aria-label=working]')
  }, count(rows))
  found.filter_ms = performance.now() - filtered
  await page.context().close()
}
{
  const { page } = await opened('/?table=1&page=row&row=100')
  const PICTURES = `[...document.querySelectorAll('.picture .enlarge img')]`
  await page.waitForFunction(`${PICTURES}.length === 4 && ${PICTURES}.every((image) => image.complete && image.naturalWidth > 0)`)
  await page.waitForTimeout(1500)
  const steps = []
  for (let turn = 0; turn < 60; turn++) {
    steps.push(
      await timed(
        page,
        `globalThis.before = new Set(${PICTURES}.map((image) => image.src)); document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))`,
        `const images = ${PICTURES}; return images.length === 4 && images.every((image) => image.complete && image.naturalWidth > 0 && !globalThis.before.has(image.src))`,
      ),
    )
    await page.waitForTimeout(150)
  }
  found.step_median_ms = percentile(steps, 0.5)
  found.step_95_ms = percentile(steps, 0.95)
}
await browser.close()
console.log(JSON.stringify(found))
