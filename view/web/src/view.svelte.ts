// What is shown: it stands in the address, so that a link shows the same.

import { choiceParameters, json, takeToken, type Choice, type Parameters, type TableInfo } from './api'

takeToken()
// The address of a later run, pasted into this tab.
addEventListener('hashchange', () => takeToken() && location.reload())

class View {
  tables = $state.raw<TableInfo[]>([])
  table = $state(0)
  where = $state<string[]>([])
  sort = $state<string | null>(null)
  descending = $state(false)
  hidden = $state<string[]>([])
  row = $state(0)
  page = $state<'rows' | 'row'>('rows')
  flags = $state<number[]>([])
  flagged = $state(false)
  said = $state('')

  info = $derived<TableInfo | undefined>(this.tables[this.table])
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
    this.page = said.get('page') === 'row' ? 'row' : 'rows'
    this.flags = numbers('flags')
    this.flagged = said.get('only') === 'flags'
  }

  /** Puts the state into the address. A step within a page replaces it: going back leaves the page. */
  write(isNew: boolean) {
    const said: [string, string][] = []
    if (this.table) said.push(['table', String(this.table)])
    if (this.page === 'row') said.push(['page', 'row'])
    if (this.row || this.page === 'row') said.push(['row', String(this.row)])
    for (const condition of this.where) said.push(['where', condition])
    if (this.sort) said.push(['sort', (this.descending ? '-' : '') + this.sort])
    for (const column of this.hidden) said.push(['hide', column])
    if (this.flags.length) said.push(['flags', this.flags.join(',')])
    if (this.flagged) said.push(['only', 'flags'])
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

  show(page: 'rows' | 'row') {
    this.page = page
    this.write(true)
  }

  step(row: number) {
    this.row = row
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
    Object.assign(this, { table, where: [], sort: null, descending: false, hidden: [], row: 0, flags: [], flagged: false })
    this.write(true)
  }
}

export const view = new View()
