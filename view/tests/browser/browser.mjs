// Scenarios of the page in a browser: `node browser.mjs SCENARIO URL`. The first check that fails ends it.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(new URL('../../web/package.json', import.meta.url))
const { chromium } = require('playwright-core')
const { AxeBuilder } = require('@axe-core/playwright')

const [scenario, url] = process.argv.slice(2)
const { origin } = new URL(url)
const folder = process.env.TETRYS_PICTURES
if (folder) mkdirSync(folder, { recursive: true })

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
})
const wrong = []

async function opened(width, scheme, path = '/') {
  const context = await browser.newContext({ viewport: { width, height: 860 }, colorScheme: scheme, reducedMotion: 'reduce' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
  const page = await context.newPage()
  page.setDefaultTimeout(180_000)
  page.expected = []
  page.on('console', (said) => {
    if (said.type() === 'error' && !page.expected.some((text) => said.text().includes(text))) wrong.push(`console: ${said.text()}`)
  })
  page.on('pageerror', (error) => wrong.push(`page: ${error.stack}`))
  page.on('request', (request) => {
    const to = request.url()
    if (!to.startsWith(`${origin}/`) && !to.startsWith('blob:') && !to.startsWith('data:')) wrong.push(`a request to another host: ${to}`)
  })
  await page.goto(`${origin}${path}${new URL(url).hash}`)
  return page
}

const text = (page, selector) => page.locator(selector).first().innerText()
async function until(what, check) {
  for (let turn = 0; ; turn++) {
    const found = await check()
    if (found) return found
    if (turn === 1800) throw new Error(`not within three minutes: ${what}`)
    await new Promise((next) => setTimeout(next, 100))
  }
}
const counted = (page, number) => until(`${number} rows`, async () => (await text(page, '.filters .number b').catch(() => '')) === number)
const firstRow = (page, number) => until(`row ${number} first`, async () => (await text(page, '.line .name').catch(() => '')).startsWith(number))
async function axe(page, what) {
  const { violations } = await new AxeBuilder({ page }).analyze()
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`), [], what)
}
async function picture(page, name) {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, timeout: 180_000 })
}
const done = (what) => console.log(`ok: ${what}`)
const headsDone = (page) => until('heads', async () => (await page.locator('.histogram').count()) >= 2)

const scenarios = {
  async looks() {
    for (const scheme of ['light', 'dark']) {
      for (const width of [1280, 400]) {
        const page = await opened(width, scheme)
        await counted(page, '180')
        await headsDone(page)
        assert.equal(await page.evaluate(() => location.hash), '', 'the token has left the address')
        await axe(page, `rows, ${scheme}, ${width}`)
        await picture(page, `rows-${scheme}-${width}`)
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page does not scroll sideways')
        await page.getByRole('button', { name: 'Copy as' }).click()
        await page.getByText('tetrys query').waitFor()
        await axe(page, `copies, ${scheme}, ${width}`)
        await picture(page, `copies-${scheme}-${width}`)
        await page.goto(`${origin}/?page=row&row=63`)
        await until('pictures', () => page.evaluate(() => document.querySelectorAll('.strip img').length >= 8 && [...document.images].every((image) => image.complete && image.naturalWidth > 0)))
        await page.locator('.plot canvas').first().waitFor()
        await page.locator('.points canvas').waitFor()
        await new Promise((next) => setTimeout(next, 1200))
        await axe(page, `row, ${scheme}, ${width}`)
        await picture(page, `row-${scheme}-${width}`)
        if (folder) {
          await page.locator('.cards').evaluate((cards) => cards.scrollTo(0, 760))
          await new Promise((next) => setTimeout(next, 500))
          await picture(page, `row-below-${scheme}-${width}`)
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the row does not scroll sideways')
        await page.context().close()
        done(`${scheme}, ${width} pixels`)
      }
    }
  },

  async pages() {
    // By keyboard alone.
    const page = await opened(1280, 'light')
    await counted(page, '180')
    await page.keyboard.press('/')
    await page.keyboard.type("weather = 'fog' AND speed > 9")
    await page.keyboard.press('Enter')
    const fog = Array.from({ length: 180 }, (_, row) => row).filter((row) => Math.floor(row / 20) % 4 === 3 && row % 17 !== 5 && 8 + 4 * Math.floor(row / 60) + 5 * Math.sin((row % 60) / 9) > 9)
    await counted(page, String(fog.length))
    assert.ok(new URL(page.url()).searchParams.get('where').includes('fog'), 'the filter stands in the address')
    await firstRow(page, String(fog[0]))
    await page.locator('[role=grid]').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('the third row', async () => new URL(page.url()).searchParams.get('row') === String(fog[2]))
    await page.locator('.card').nth(5).waitFor()
    await page.keyboard.press('ArrowRight')
    await until('the row after', async () => new URL(page.url()).searchParams.get('row') === String(fog[2] + 1))
    await page.keyboard.press('f')
    await page.getByText('in its sequence').waitFor()
    await page.keyboard.press('Home')
    await page.keyboard.press('f')
    assert.equal(new URL(page.url()).searchParams.get('flags'), `60,${fog[2] + 1}`)
    await until('missing neighbours', async () => (await page.locator('.strip .absent').count()) >= 6)
    await page.keyboard.press('Escape')
    await page.getByText('only the 2 flagged rows').waitFor()
    await page.getByRole('checkbox', { name: 'only the 2 flagged rows' }).press('Space')
    await counted(page, String([60, fog[2] + 1].filter((row) => fog.includes(row)).length))
    done('keyboard: filter, grid, steps, flags')

    // With the mouse.
    await page.goto(origin)
    await counted(page, '180')
    await headsDone(page)
    await page.getByRole('button', { name: /^fog/ }).click()
    await counted(page, '40')
    await page.getByRole('button', { name: 'Remove' }).click()
    await counted(page, '180')
    const histogram = page.locator('[role=columnheader]', { hasText: 'frame' }).locator('svg')
    const box = await histogram.boundingBox()
    await page.mouse.move(box.x + 1, box.y + 20)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2 - 1, box.y + 20, { steps: 4 })
    await page.mouse.up()
    await until('a range', async () => /"frame" >= 0 AND "frame" < \d+/.test(await text(page, '.chips code').catch(() => '')))
    await page.getByRole('button', { name: 'Remove' }).click()
    await counted(page, '180')
    await page.locator('.sort', { hasText: 'frame' }).click()
    await firstRow(page, '0')
    await page.locator('.sort', { hasText: 'frame' }).click()
    await firstRow(page, '179')
    assert.equal(await page.locator('[role=columnheader][aria-sort=descending]').count(), 1)
    page.expected = ['400']
    await page.locator('#sql').fill('nonsense >')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assert.ok((await text(page, '[role=alert]')).includes('nonsense'))
    await axe(page, 'an error')
    await picture(page, 'error')
    await page.goBack()
    await counted(page, '180')
    page.expected = []
    done('mouse: values, histogram, sort, an error, going back')

    // The choice of columns, and copying.
    await page.goto(`${origin}/?where=${encodeURIComponent('night')}&sort=-speed`)
    await counted(page, '36')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: /^log/ }).uncheck()
    assert.equal(await page.getByRole('columnheader', { name: /^log/ }).count(), 0)
    assert.equal(new URL(page.url()).searchParams.get('hide'), 'log')
    await page.getByRole('button', { name: 'Copy as' }).click()
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click()
    await page.getByText('Copied as Python').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.ok(copied.includes('where="night"') && copied.includes('sort("speed", descending=True)'), copied)
    done('columns and copies')

    // Playing, the slider, points from above, and a picture enlarged.
    await page.goto(`${origin}/?page=row&row=62`)
    await page.locator('.strip img').first().waitFor()
    await page.keyboard.press(' ')
    await until('playing', async () => Number(new URL(page.url()).searchParams.get('row')) > 66)
    await page.keyboard.press(' ')
    await page.getByRole('slider').focus()
    await page.keyboard.press('End')
    await until('the end of the sequence', async () => new URL(page.url()).searchParams.get('row') === '119')
    await page.getByRole('button', { name: 'From above' }).click()
    await until('points are drawn', () =>
      page.locator('.points canvas').evaluate((canvas) => {
        const copy = document.createElement('canvas')
        Object.assign(copy, { width: canvas.width, height: canvas.height })
        const context = copy.getContext('2d')
        context.drawImage(canvas, 0, 0)
        const { data } = context.getImageData(0, 0, copy.width, copy.height)
        let drawn = 0
        for (let place = 3; place < data.length; place += 4) if (data[place] > 200) drawn++
        return drawn > 500
      }),
    )
    await picture(page, 'above')
    await page.getByRole('button', { name: 'Enlarge front.png' }).click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    done('playing, slider, points, a picture')

    // A view, in the list of tables.
    await page.goto(origin)
    await counted(page, '180')
    await page.getByLabel('Table').selectOption({ label: 'rainy' })
    await counted(page, '40')
    await page.locator('.line').first().click()
    await page.locator('.picture img').first().waitFor()
    done('a view')

    // A page of rows that cannot be read is not asked for again by itself.
    let asked = 0
    page.expected = ['500']
    await page.route('**/api/rows?*', (route) => {
      asked++
      return route.fulfill({ status: 500, contentType: 'application/json', body: '{"error": {"kind": "Corrupt", "message": "damaged here"}}' })
    })
    await page.goto(origin)
    await page.getByText('damaged here').waitFor()
    await new Promise((next) => setTimeout(next, 500))
    assert.ok(asked <= 3, `${asked} requests`)
    await page.unroute('**/api/rows?*')
    page.expected = []
    done('a page of rows that cannot be read')

    // Without the token.
    page.expected = ['401']
    await page.evaluate(() => localStorage.clear())
    await page.goto(origin)
    await page.getByText('This page has no access').waitFor()
    await axe(page, 'no access')
    await page.context().close()
    done('no access without the token')
  },

  async damaged() {
    const page = await opened(1280, 'light', '/?page=row&row=70')
    page.expected = ['500']
    await page.getByText('This group cannot be read here.').waitFor()
    await page.locator('.picture img').first().waitFor()
    assert.equal(await page.locator('.damaged').count(), 1)
    assert.ok((await text(page, '.damaged p')).length > 20)
    await axe(page, 'damage')
    await picture(page, 'damaged')
    done('a damaged row')
  },

  async many() {
    const page = await opened(1280, 'light')
    await counted(page, '700,000')
    await page.locator('[role=grid]').focus()
    const last = () => until('the last row', async () => (await page.locator('.line .name').allInnerTexts()).includes('699,999'))
    await page.keyboard.press('End')
    await last()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Home')
    await firstRow(page, '0')
    await page.locator('[role=grid]').hover()
    await page.mouse.wheel(0, 90)
    await firstRow(page, '3')
    await page.locator('[role=grid]').evaluate((grid) => (grid.scrollTop = grid.scrollHeight / 2))
    await until('the middle', async () => {
      const row = Number((await text(page, '.line .name')).replaceAll(',', ''))
      return row > 340_000 && row < 360_000 && (await text(page, '.line .cell:nth-child(2)')) !== ''
    })
    await page.locator('[role=grid]').evaluate((grid) => (grid.scrollTop = grid.scrollHeight))
    await last()
    await page.goto(`${origin}/?row=654321`)
    await firstRow(page, '654,321')
    await until('the scroll bar is there too', () => page.locator('[role=grid]').evaluate((grid) => grid.scrollTop > grid.scrollHeight / 2))
    assert.equal(await text(page, '.line .cell:nth-child(3)'), '327160')
    done('many rows')
  },
}

try {
  await scenarios[scenario]()
  assert.deepEqual(wrong, [], 'errors of the page')
  console.log('all done')
} finally {
  await browser.close()
}
