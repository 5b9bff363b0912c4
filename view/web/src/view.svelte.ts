// What is shown: it stands in the address, so that a link shows the same.

import { choiceParameters, json, takeToken, type Choice, type Parameters, type TableInfo, type Taken } from './api'

takeToken()
// The address of a later run, pasted into this tab.
addEventListener('hashchange', () => takeToken() && location.reload())

export type Page = 'rows' | 'row' | 'scene' | 'storage' | 'table'
const PAGES: Page[] = ['rows', 'row', 'scene', 'storage', 'table']

/** How a row is looked at from above: metres over the shorter side, what points up, rows to each side, and the agent that is chosen. */
export type Above = { metres: number; up: 'ego' | 'north'; around: number; track: string | null }
const ABOVE: Above = { metres: 90, up: 'ego', around: 30, track: null }

/** What the page has read of a row: of each column group, the row and perhaps a window of some columns. */
export type LastRead = { table: number; row: number; around: number; window: string[]; groups: Record<string, Taken> }

class View {
  tables = $state.raw<TableInfo[]>([])
  table = $state(0)
  where = $state<string[]>([])
  sort = $state<string | null>(null)
  descending = $state(false)
  hidden = $state<string[]>([])
  row = $state(0)
  page = $state<Page>('rows')
  /** The rows of the picture of the storage; null for all. */
  shown = $state<[number, number] | null>(null)
  above = $state.raw<Above>(ABOVE)
  last = $state.raw<LastRead | null>(null)
  flags = $state<number[]>([])
  flagged = $state(false)
  said = $state('')

  info = $derived<TableInfo | undefined>(this.tables[this.table])
  /** The page that is shown: some tables have no picture from above, and one without rows has none to show. */
  shownPage = $derived<Page>((this.page === 'scene' && !(this.info?.scene && this.info.rows)) || (this.page === 'row' && !this.info?.rows) ? 'rows' : this.page)
  choice = $derived<Choice>({
    where: this.where,
    sort: this.sort,
    descending: this.descending,
    only: this.flagged ? [...this.flags].sort((left, right) => left - right) : null,
  })
  parameters = $derived<Parameters>(choiceParameters(this.table, this.choice))

  constructor() {
    this.read()
    addEventListener('popstate', () => this.read())
  }

  async load() {
    this.tables = (await json<{ tables: TableInfo[] }>('tables', [])).tables
    if (this.table >= this.tables.length) this.table = 0
  }

  private read() {
    const said = new URLSearchParams(location.search)
    const numbers = (name: string) => (said.get(name) ?? '').split(',').filter((text) => /^\d+$/.test(text)).map(Number)
    this.table = numbers('table')[0] ?? 0
    this.where = said.getAll('where')
    const sort = said.get('sort')
    this.sort = sort ? sort.replace(/^-/, '') : null
    this.descending = sort?.startsWith('-') ?? false
    this.hidden = said.getAll('hide')
    this.row = numbers('row')[0] ?? 0
    this.page = PAGES.find((page) => page === said.get('page')) ?? 'rows'
    const shown = /^(\d+)\.\.(\d+)$/.exec(said.get('shown') ?? '')
    this.shown = shown ? [Number(shown[1]), Number(shown[2])] : null
    const metres = Number(said.get('zoom'))
    this.above = {
      metres: metres >= 1 && metres <= 1000 ? metres : ABOVE.metres,
      up: said.get('up') === 'north' ? 'north' : 'ego',
      around: Math.min(100, numbers('around')[0] ?? ABOVE.around),
      track: said.get('track'),
    }
    this.flags = numbers('flags')
    this.flagged = said.get('only') === 'flags'
  }

  /** Puts the state into the address. A step within a page replaces it: going back leaves the page. */
  write(isNew: boolean) {
    const said: [string, string][] = []
    if (this.table) said.push(['table', String(this.table)])
    if (this.page !== 'rows') said.push(['page', this.page])
    if (this.row || this.page === 'row' || this.page === 'scene') said.push(['row', String(this.row)])
    for (const condition of this.where) said.push(['where', condition])
    if (this.sort) said.push(['sort', (this.descending ? '-' : '') + this.sort])
    for (const column of this.hidden) said.push(['hide', column])
    if (this.flags.length) said.push(['flags', this.flags.join(',')])
    if (this.flagged) said.push(['only', 'flags'])
    if (this.page === 'storage' && this.shown) said.push(['shown', this.shown.join('..')])
    if (this.page === 'scene') {
      const { metres, up, around, track } = this.above
      if (metres !== ABOVE.metres) said.push(['zoom', String(Number(metres.toPrecision(3)))])
      if (up !== ABOVE.up) said.push(['up', up])
      if (around !== ABOVE.around) said.push(['around', String(around)])
      if (track !== null) said.push(['track', track])
    }
    const query = new URLSearchParams(said).toString()
    const address = location.pathname + (query ? `?${query}` : '')
    if (address === location.pathname + location.search) return
    if (isNew) history.pushState(null, '', address)
    else history.replaceState(null, '', address)
  }

  open(row: number) {
    this.row = row
    this.page = 'row'
    this.write(true)
  }

  show(page: Page) {
    this.page = page
    this.write(true)
  }

  /** Notes what a read of a row has taken, for the picture of the storage. */
  took(row: number, group: string, taken: Taken | null, window: string[] = [], around = 0) {
    if (!taken) return
    const before = this.last?.table === this.table && this.last.row === row ? this.last : { table: this.table, row, around: 0, window: [], groups: {} }
    const sum = before.groups[group]
    const groups = { ...before.groups, [group]: window.length && sum ? { requests: sum.requests + taken.requests, bytes: sum.bytes + taken.bytes, ms: sum.ms + taken.ms } : taken }
    this.last = { ...before, around: Math.max(around, before.around), window: [...new Set([...before.window, ...window])], groups }
  }

  step(row: number) {
    this.row = row
    this.write(false)
  }

  look(above: Partial<Above>) {
    this.above = { ...this.above, ...above }
    this.write(false)
  }

  filter(condition: string, instead?: string) {
    const others = this.where.filter((other) => other !== condition && !(instead && other.startsWith(instead)))
    this.where = [...others, condition]
    this.write(true)
  }

  drop(condition: string) {
    this.where = this.where.filter((other) => other !== condition)
    this.write(true)
  }

  sortBy(column: string) {
    if (this.sort !== column) [this.sort, this.descending] = [column, false]
    else if (!this.descending) this.descending = true
    else [this.sort, this.descending] = [null, false]
    this.write(true)
  }

  flag(row: number) {
    this.flags = this.flags.includes(row) ? this.flags.filter((other) => other !== row) : [...this.flags, row].sort((left, right) => left - right)
    if (!this.flags.length) this.flagged = false
    this.write(false)
  }

  choose(table: number) {
    Object.assign(this, { table, where: [], sort: null, descending: false, hidden: [], row: 0, shown: null, above: ABOVE, flags: [], flagged: false })
    this.write(true)
  }
}

export const view = new View()
