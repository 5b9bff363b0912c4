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
  await page.addInitScript(() => performance.setResourceTimingBufferSize(100_000))
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
/** Starts to count what the main thread of a page does. The function that it returns gives milliseconds for each of `turns`. */
async function profile(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const read = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]))
  const before = await read()
  return async (turns) => {
    const after = await read()
    const each = (name) => (1000 * (after[name] - before[name])) / turns
    return { script: each('ScriptDuration'), style: each('RecalcStyleDuration'), layout: each('LayoutDuration'), all: each('TaskDuration') }
  }
}

/** Returns how long the requests that began since `began` took together, in milliseconds: from the first begin to the last end. */
const fetched = (page, began) =>
  page.evaluate((began) => {
    const asked = performance.getEntriesByType('resource').filter((one) => one.startTime >= began && one.name.includes('/api/'))
    return asked.length ? Math.max(...asked.map((one) => one.responseEnd)) - Math.min(...asked.map((one) => one.startTime)) : 0
  }, began)
const clock = (page) => page.evaluate(() => performance.now())
const FILLED = `[...document.querySelectorAll('.line')].slice(0, 15).every((line) => line.children[1].textContent.trim() !== '')`

{
  const { page, began } = await opened('/')
  await page.waitForFunction(`document.querySelectorAll('.line').length > 10 && ${FILLED}`)
  found.first_rows_ms = performance.now() - began
  await page.waitForFunction(() => document.querySelectorAll('.histogram, .values, .range').length >= 12 && !document.querySelector('.progress'))
  found.heads_ms = performance.now() - began
  const pages = []
  const pagesFetched = []
  const ofPages = await profile(page)
  for (let turn = 1; turn <= 200; turn++) {
    // Pages that were not shown before, in no order.
    const part = (turn * 0.6180339887) % 1
    const began = await clock(page)
    pages.push(
      await timed(
        page,
        `globalThis.before = document.querySelector('.line .name').textContent; const grid = document.querySelector('[role=grid]'); grid.scrollTop = given * (grid.scrollHeight - grid.clientHeight)`,
        `return document.querySelector('.line .name').textContent !== globalThis.before && ${FILLED}`,
        part,
      ),
    )
    pagesFetched.push(await fetched(page, began))
  }
  found.pages_main_thread_ms = await ofPages(pages.length)
  found.pages_fetch_median_ms = percentile(pagesFetched, 0.5)
  found.pages_fetch_95_ms = percentile(pagesFetched, 0.95)
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
  const stepsFetched = []
  const ofSteps = await profile(page)
  for (let turn = 0; turn < 60; turn++) {
    const began = await clock(page)
    steps.push(
      await timed(
        page,
        `globalThis.before = new Set(${PICTURES}.map((image) => image.src)); document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))`,
        `const images = ${PICTURES}; return images.length === 4 && images.every((image) => image.complete && image.naturalWidth > 0 && !globalThis.before.has(image.src))`,
      ),
    )
    await page.waitForTimeout(150)
    stepsFetched.push(await fetched(page, began))
  }
  found.steps_main_thread_ms = await ofSteps(steps.length)
  found.step_fetch_median_ms = percentile(stepsFetched, 0.5)
  found.step_median_ms = percentile(steps, 0.5)
  found.step_95_ms = percentile(steps, 0.95)
}
await browser.close()
console.log(JSON.stringify(found))
