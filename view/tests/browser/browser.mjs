// Scenarios of the page in a browser: `node browser.mjs SCENARIO URL`. The first check that fails ends it.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as street from './street.mjs'

const require = createRequire(new URL('../../web/package.json', import.meta.url))
const { chromium } = require('playwright-core')
const { AxeBuilder } = require('@axe-core/playwright')

const [scenario, url, given] = process.argv.slice(2)
const { origin } = new URL(url)
const folder = process.env.TETRYS_PICTURES
if (folder) mkdirSync(folder, { recursive: true })

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
})
const wrong = []
const pages = []

async function opened(width, scheme, path = '/') {
  const context = await browser.newContext({ viewport: { width, height: 860 }, colorScheme: scheme, reducedMotion: 'reduce' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
  const page = await context.newPage()
  page.setDefaultTimeout(180_000)
  pages.push(page)
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

/** What a page shows, for the error of a check that fails. */
async function state(page) {
  return `${page.url()}: ${await page.locator('body').innerText().catch((error) => error.message)}`
}

const text = (page, selector) => page.locator(selector).first().innerText()
async function until(what, check) {
  for (let turn = 0; ; turn++) {
    const found = await check()
    if (found) return found
    if (turn === 1800) throw new Error(`not within three minutes: ${what}\n${(await Promise.all(pages.map(state))).concat(wrong).join('\n')}`)
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
/** Waits until the own car is on the canvas, in its colour. */
const drawn = (page) =>
  until('the own car is drawn', () =>
    page.evaluate(() => {
      const [canvas, sign] = [document.querySelector('.scene canvas'), document.querySelector('.sign.own')]
      if (!canvas?.width || !sign) return false
      const [red, green, blue] = getComputedStyle(sign).color.match(/\d+/g).map(Number)
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let found = 0
      for (let place = 0; place < data.length; place += 4) if (data[place] === red && data[place + 1] === green && data[place + 2] === blue) found++
      return found > 40
    }),
  )
/** The most that a page may differ from its picture in the guide, of 255: other fonts differ by less, another page by more. */
const DIFFERENCE = 5
/** Compares a page with its picture in the guide: both as 64 by 43 grey pixels. */
async function compared(page, name, scheme, width) {
  if (scheme !== 'light' || width !== 1280) return
  const file = new URL(`../../../docs/viewer-${name}-light.png`, import.meta.url)
  const shots = [await page.screenshot({ timeout: 180_000 }), readFileSync(file)].map((bytes) => `data:image/png;base64,${bytes.toString('base64')}`)
  const blank = await browser.newPage()
  const difference = await blank.evaluate(async (shots) => {
    const [left, right] = await Promise.all(
      shots.map(async (source) => {
        const image = Object.assign(new Image(), { src: source })
        await image.decode()
        const context = Object.assign(document.createElement('canvas'), { width: 64, height: 43 }).getContext('2d')
        context.imageSmoothingQuality = 'high'
        context.drawImage(image, 0, 0, 64, 43)
        const { data } = context.getImageData(0, 0, 64, 43)
        return Array.from({ length: 64 * 43 }, (_, at) => (data[4 * at] + data[4 * at + 1] + data[4 * at + 2]) / 3)
      }),
    )
    return left.reduce((sum, grey, at) => sum + Math.abs(grey - right[at]), 0) / left.length
  }, shots)
  await blank.context().close()
  console.log(`${name}: differs from its picture by ${difference.toFixed(2)} of 255`)
  assert.ok(difference <= DIFFERENCE, `${file.pathname} differs by ${difference.toFixed(2)} of 255: look at both, and replace it by the picture of TETRYS_PICTURES, whose name has ${name} and light-1280`)
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
        await compared(page, 'rows', scheme, width)
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
        await compared(page, 'row', scheme, width)
        if (folder) {
          await page.locator('.cards').evaluate((cards) => cards.scrollTo(0, 760))
          await new Promise((next) => setTimeout(next, 500))
          await picture(page, `row-below-${scheme}-${width}`)
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the row does not scroll sideways')
        await page.getByRole('button', { name: 'Storage' }).click()
        await until('the layout', async () => (await page.locator('.band').count()) === 5 && (await page.locator('.band .lit').count()) === 5)
        await page.getByText('The last read').waitFor()
        await page.locator('.versions li').first().waitFor()
        await axe(page, `storage, ${scheme}, ${width}`)
        await picture(page, `storage-${scheme}-${width}`)
        await compared(page, 'storage', scheme, width)
        if (folder) {
          await page.locator('.sheet').evaluate((sheet) => sheet.scrollTo(0, 5000))
          await picture(page, `storage-below-${scheme}-${width}`)
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the storage does not scroll sideways')
        await page.getByRole('button', { name: 'Table', exact: true }).click()
        await page.locator('.schema').waitFor()
        await page.getByText('rainy@1').waitFor()
        await axe(page, `table, ${scheme}, ${width}`)
        await picture(page, `table-${scheme}-${width}`)
        await compared(page, 'table', scheme, width)
        if (folder) {
          await page.locator('.sheet').evaluate((sheet) => sheet.scrollTo(0, 5000))
          await picture(page, `table-below-${scheme}-${width}`)
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the table does not scroll sideways')
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

    // The storage: what a row has taken, and closer by keys alone.
    await page.goto(`${origin}/?page=row&row=118`)
    await page.locator('.strip img').first().waitFor()
    await page.getByRole('button', { name: 'Storage' }).press('Enter')
    await page.getByText('The last read').waitFor()
    const camera = page.locator('.band').first()
    assert.match(await camera.locator('svg').getAttribute('aria-label'), /^cameras: .* blocks? in 3 chunks, .* of the read$/)
    const figures = (await page.locator('p.figures').innerText()).replaceAll(/\s+/g, ' ')
    assert.match(figures, /^\d+ requests? .* ms$/)
    assert.equal(await page.locator('table.figures tbody tr').count(), 5)
    await page.keyboard.press('l')
    await until('closer', async () => /rows \d+ to \d+ of 180/.test(await text(page, '#layout-card small')) && !(await text(page, '#layout-card small')).startsWith('rows 0 to 179'))
    const closer = new URL(page.url()).searchParams.get('shown')
    assert.match(closer, /^\d+\.\.\d+$/)
    await page.keyboard.press('-')
    await until('farther', async () => new URL(page.url()).searchParams.get('shown') !== closer)
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Home')
    await until('all rows', async () => (await text(page, '#layout-card small')) === 'rows 0 to 179 of 180')
    await camera.locator('svg').hover()
    await until('a block is described', async () => /^cameras · rows? .* block.* chunk \d · this table$/.test((await text(page, '.over')).replaceAll(/\s+/g, ' ')))
    await camera.locator('svg').click()
    await until('closer by a click', async () => new URL(page.url()).searchParams.has('shown'))
    await page.keyboard.press('Escape')
    await counted(page, '180')
    done('storage: the last read, keys, the mouse')

    // What the table is.
    await page.getByRole('button', { name: 'Table', exact: true }).press('Enter')
    const of = (name) => page.locator('.schema tr', { has: page.getByRole('rowheader', { name, exact: true }) })
    await of('speed').waitFor()
    assert.deepEqual(await of('lidar.points').locator('td').allInnerTexts(), ['f32', '? × 4', '', ''])
    assert.deepEqual((await of('speed').locator('td').allInnerTexts()).slice(0, 3), ['f64', '', 'm/s'])
    assert.match(await text(page, '[aria-labelledby=users-card] li'), /rainy@1.*uses version 1 · exists/s)
    await page.goto(`${origin}/?table=1&page=table`)
    await page.getByRole('heading', { name: 'View', exact: true }).waitFor()
    assert.match(await text(page, '[aria-labelledby=stands-card] li'), /drives@1/)
    await page.getByText('No view, and no other table.').waitFor()
    await page.goto(`${origin}/?table=1&page=storage&row=5`)
    await until('the table behind the view', async () => (await text(page, '#layout-card small')) === 'rows 0 to 179 of 180' && (await page.locator('.band .lit').count()) === 5)
    await axe(page, 'the storage of a view')
    done('the table, and the view on it')

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

  async edges() {
    // `given` has, for each column, a text for each row; equal values have equal texts.
    const columns = JSON.parse(given)
    const page = await opened(1280, 'light')
    const rows = columns.id.length
    await counted(page, String(rows))
    await headsDone(page)
    let ranges = 0
    for (const column of ['big', 'whole', 'float']) {
      const histogram = page.getByRole('columnheader', { name: new RegExp(`^${column}`) })
      const heights = await histogram.locator('rect').evaluateAll((all) => all.map((one) => Number(one.getAttribute('height'))))
      for (let bin = 0; bin < heights.length; bin++) {
        if (!heights[bin]) continue
        const box = await histogram.locator('svg').boundingBox()
        await page.mouse.move(box.x + ((bin + 0.5) / heights.length) * box.width, box.y + box.height - 3)
        const times = await histogram.locator('.range span').last().innerText()
        await page.mouse.down()
        await page.mouse.up()
        await until('a condition', async () => (await page.locator('.chips code').count()) === 1)
        await counted(page, times)
        await page.getByRole('button', { name: 'Remove' }).click()
        await counted(page, String(rows))
        await headsDone(page)
        await until('all bins', async () => (await histogram.locator('rect').count()) === heights.length)
        ranges++
      }
    }
    assert.ok(ranges >= 8, `${ranges} ranges`)
    done('each bin of a histogram chooses as many rows as it counts')
    let chosen = 0
    for (let row = 0; row < rows; row++) {
      for (const [column, values] of Object.entries(columns)) {
        await page.goto(`${origin}/?page=row&row=${row}`)
        await page.locator('.pairs dd').nth(Object.keys(columns).length - 1).waitFor()
        const same = page.getByRole('button', { name: `Rows with the same ${column}`, exact: true })
        if (!(await same.count())) {
          assert.ok(['NaN', 'inf', '-inf'].includes(values[row]), `${column} of row ${row}: ${values[row]}`)
          continue
        }
        await same.click()
        await counted(page, String(values.filter((value) => value === values[row]).length))
        chosen++
      }
    }
    assert.ok(chosen > 4 * rows, `${chosen} values`)
    done('each value chooses the rows that have it')
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

  async sceneLooks() {
    for (const scheme of ['light', 'dark']) {
      for (const width of [1280, 400]) {
        const page = await opened(width, scheme, '/?page=scene&row=100')
        await drawn(page)
        await until('lanes', () => page.evaluate(() => performance.getEntriesByType('resource').some((one) => one.name.includes('/api/ground'))))
        await new Promise((next) => setTimeout(next, 400))
        await axe(page, `scene, ${scheme}, ${width}`)
        await picture(page, `scene-${scheme}-${width}`)
        await page.keyboard.press('n')
        await page.getByText('chosen').waitFor()
        await axe(page, `an agent, ${scheme}, ${width}`)
        if (folder) {
          await page.locator('.scene').evaluate((scene) => scene.scrollTo(0, 5000))
          await picture(page, `scene-below-${scheme}-${width}`)
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the scene does not scroll sideways')
        await page.context().close()
        done(`scene: ${scheme}, ${width} pixels`)
      }
    }

    // As in the guide: a street that depends on nothing but the row.
    const page = await opened(1280, 'light')
    await page.route('**/api/scene?*', (route) => {
      const asked = new URL(route.request().url()).searchParams
      return route.fulfill({ json: street.scene(...['row', 'before', 'after'].map((name) => Number(asked.get(name)))) })
    })
    await page.route('**/api/ground?*', (route) => route.fulfill({ json: street.ground() }))
    await page.goto(`${origin}/?page=scene&row=100&track=117`)
    await drawn(page)
    await page.getByText('chosen').waitFor()
    await new Promise((next) => setTimeout(next, 600))
    await picture(page, 'scene-street-light-1280')
    await compared(page, 'scene', 'light', 1280)
    await page.context().close()
    done('scene: as in the guide')
  },

  async scene() {
    // By its tab, then by keys alone.
    const page = await opened(1280, 'light')
    await counted(page, '633')
    await page.getByRole('button', { name: 'Scene', exact: true }).press('Enter')
    await drawn(page)
    const parameter = (name) => new URL(page.url()).searchParams.get(name)
    const at = (row) => until(`row ${row}`, async () => parameter('row') === String(row) && (await text(page, '#frame-card small')) === String(row) && (await page.locator('.scene .map').getAttribute('aria-busy')) === 'false')
    assert.equal(parameter('page'), 'scene')
    await at(0)
    await page.getByText('0 of 30 rows before and 30 of 30 rows after are there.').waitFor()
    await page.keyboard.press('ArrowRight')
    await at(1)
    await page.getByText('1 of 30 rows before').waitFor()
    await page.getByText('in its sequence').waitFor()
    await page.keyboard.press('End')
    await at(247)
    await page.getByText('0 of 30 rows after').waitFor()
    await page.keyboard.press('Home')
    await at(0)
    await page.keyboard.press('ArrowRight')
    // The tab has the focus: its space bar is its own.
    await page.getByRole('button', { name: 'Play' }).press(' ')
    await until('playing', async () => Number(parameter('row')) > 5)
    await page.keyboard.press(' ')
    await page.getByRole('button', { name: 'Play' }).waitFor()
    await page.keyboard.press('+')
    await until('closer', async () => parameter('zoom') === '72')
    await page.keyboard.press('-')
    await until('as before', async () => parameter('zoom') === null)
    await page.keyboard.press('u')
    await until('north up', async () => parameter('up') === 'north')
    await page.keyboard.press('n')
    await page.keyboard.press('n')
    const track = await until('a track', async () => parameter('track'))
    await until('its card', async () => (await text(page, '[aria-labelledby=agent-card] dd')) === track)
    assert.equal(await page.locator('.scene .list button[aria-pressed=true]').count(), 1)
    await page.keyboard.press('p')
    await until('another track', async () => parameter('track') !== track)
    await page.keyboard.press('Escape')
    await until('no track', async () => parameter('track') === null)
    await page.keyboard.press('Escape')
    await counted(page, '633')
    done('scene: steps, plays, zoom, turns and agents by keys')

    // By its address and the mouse. Where an agent is drawn is computed here again.
    await page.goto(`${origin}/?page=scene&row=100&zoom=60&up=north&around=10`)
    await drawn(page)
    assert.equal(await page.getByRole('button', { name: 'North up' }).getAttribute('aria-pressed'), 'true')
    assert.equal(await page.getByLabel('rows to each side').inputValue(), '10')
    const canvas = page.locator('.scene canvas')
    const box = await canvas.boundingBox()
    const { agent, ego } = await page.evaluate(async () => {
      const answer = await fetch('/api/scene?table=0&row=100', { headers: { authorization: `Bearer ${localStorage.getItem('tetrys-token')}` } })
      const { agents, ego } = await answer.json()
      const away = (agent) => Math.hypot(agent.x - ego.x, agent.y - ego.y)
      const near = agents.filter((one) => away(one) > 4 && away(one) < 28).sort((left, right) => away(left) - away(right))
      return { agent: near[0], ego }
    })
    const pixels = Math.min(box.width, box.height) / 60
    const [left, top] = [box.x + box.width / 2 + (agent.x - ego.x) * pixels, box.y + box.height / 2 - (agent.y - ego.y) * pixels]
    await page.mouse.move(left, top)
    await page.getByText('under the pointer').waitFor()
    assert.equal(await text(page, '[aria-labelledby=agent-card] dd'), agent.track)
    // Whoever comes closer reads nothing, and still points at the agent.
    let reads = 0
    page.on('request', (request) => new URL(request.url()).pathname === '/api/scene' && reads++)
    const took = await text(page, '.player .number small')
    for (const by of [-300, 300]) {
      const before = page.url()
      await page.mouse.wheel(0, by)
      await until('another zoom', async () => page.url() !== before)
      // Two frames: whatever the wheel has started is done.
      await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))))
      assert.equal(await page.getByText('under the pointer').count(), 1)
    }
    assert.equal(await text(page, '.player .number small'), took)
    assert.equal(reads, 0)
    await page.mouse.click(left, top)
    await until('it is chosen', async () => parameter('track') === agent.track)
    // Outside of the picture no other agent is under the pointer.
    await page.mouse.move(5, 5)
    await page.getByText('chosen', { exact: true }).waitFor()
    await page.mouse.move(left, top)
    await page.mouse.wheel(0, -300)
    await until('closer by the wheel', async () => Number(parameter('zoom')) < 60)
    await page.getByRole('button', { name: 'Ahead up' }).click()
    await until('ahead up', async () => parameter('up') === null)
    await page.getByLabel('rows to each side').selectOption('0')
    await until('the row alone', async () => parameter('around') === '0' && !(await page.getByText('rows before and').count()))
    const faces = await page.locator('.scene .light').allInnerTexts()
    assert.ok(faces.length > 3 && faces.some((one) => /(active|inactive|unknown), (red|yellow|green)/.test(one)), faces.join(' | '))
    assert.equal(await page.getByText('No map').count(), 0)
    done('scene: an agent under the pointer, choice, wheel, address')

    // A view of late frames: what is before its first row is in the table behind it.
    await page.getByLabel('Table', { exact: true }).selectOption({ label: 'late' })
    await drawn(page)
    await at(0)
    await page.getByText('frame of the scene').waitFor()
    assert.equal(await page.getByText('0 of 30 rows before').count(), 0)
    await page.context().close()
    done('scene: a view')
  },

  async brokenScene() {
    const page = await opened(1280, 'light', '/?page=scene&row=50')
    await drawn(page)
    await page.locator('[aria-labelledby=lights-card] .damaged').waitFor()
    assert.equal(await page.locator('.damaged').count(), 1)
    assert.ok((await page.locator('.scene .list button').count()) > 10)
    await page.getByText('--l5-map').waitFor()
    await axe(page, 'a damaged frame')
    await picture(page, 'scene-damaged')
    await page.context().close()
    done('a damaged frame')
  },
}

try {
  await scenarios[scenario]()
  assert.deepEqual(wrong, [], 'errors of the page')
  console.log('all done')
} finally {
  await browser.close()
}
