// Requests to the server of this page. The token stands in the address once, moves to the storage of this origin, and goes as a header.
import { tableFromIPC, type Table as Arrow } from '@uwdata/flechette'

const KEY = 'tetrys-token'

/** Takes the token out of the address, so that it is in no bookmark, history or screenshot. Returns whether there was one. */
export function takeToken(): boolean {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) {
    localStorage.setItem(KEY, token)
    history.replaceState(history.state, '', location.pathname + location.search)
  }
  return token !== null
}

export type Column = { name: string; type: string | null; unit: string | null }
export type Group = { name: string; columns: Column[] }
export type TableInfo = {
  name: string
  url: string | null
  version: number
  view: boolean
  selection: boolean
  rows: number
  index: Column[]
  groups: Group[]
  /** Whether rows have a picture from above. */
  scene: boolean
  sequence_by: string[]
  order_by: string[]
}
export type Taken = { requests: number; bytes: number; ms: number }
export type Span = [start: number, end: number, bytes: number, blocks: number, chunk: number, chunks: number, owner: number]
export type BandInfo = {
  name: string
  columns: number
  stored: number
  logical: number
  blocks: number
  chunks: number
  spans: Span[]
  lit: [number, number][]
}
export type LayoutInfo = {
  rows: number
  start: number
  end: number
  level: 'blocks' | 'segments'
  segments: number
  begins: number[]
  seams: number[]
  owners: { url: string | null; version: number }[]
  groups: BandInfo[]
}
export type ReadInfo = {
  groups: { name: string; blocks: number; ranges: number; requests: number; bytes: number; payload: number }[]
  requests: number
  bytes: number
  payload: number
  hops: number
  file_reads: number
  ranges: number
  places: { group: string; object: string; owner: number; start: number; end: number; blocks: number; needed: number }[]
}
export type LayoutAnswer = { holders: { url: string; version: number }[]; holder: number; layout: LayoutInfo; read: ReadInfo | null }
export type VersionInfo = {
  version: number
  parent: number | null
  written_ms: number | null
  operation: string | null
  tags: string[]
  rows: number
  bytes_added: number | null
  writer: string | null
  damage: string | null
}
export type AboutColumn = { name: string; type: string; properties: [string, unknown][] }
export type About = {
  url: string
  id: string
  version: number
  view: boolean
  rows: number
  sequences: number
  segments: number
  preset: string
  tags: [string, number][]
  properties: [string, unknown][]
  lineage: unknown
  attachments: [string, number][]
  sequence_by: string[]
  order_by: string[]
  index: AboutColumn[]
  groups: { name: string; stored: number; logical: number; columns: AboutColumn[] }[]
  owners: { url: string | null; urls: string[]; version: number; id: string }[]
  owner_count: number
  sources: { url: string; version: number; rows: number; view: boolean; groups: string[] }[]
  sources_failure: string | null
}
export type UserInfo = {
  version: number | null
  url: string | null
  user_version: number | null
  written_ms: number
  state: string | null
  damage: string | null
}
export type HeadInfo = {
  kind: 'numbers' | 'values' | 'other'
  rows: number
  nulls: number
  whole?: boolean
  least?: string | number
  most?: string | number
  start?: string | number
  width?: string | number
  counts?: number[]
  nan?: number
  infinite?: number
  distinct?: number | null
  values?: [string, number][]
  range?: [string, string] | null
}
export type Heads = { done: number; of: number; columns: Record<string, HeadInfo> }
export type Copies = { python: string; rust: string; command: string | null; view: string | null } | null
export type Choice = { where: string[]; sort: string | null; descending: boolean; only: number[] | null }

/** An error that the server has told. */
export class Told extends Error {
  kind: string
  constructor(kind: string, message: string) {
    super(message)
    this.kind = kind
  }
}

export type Parameters = [string, string | number][]

async function get(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  const query = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]))
  let answer: Response
  try {
    answer = await fetch(`/api/${path}?${query}`, {
      headers: { authorization: `Bearer ${localStorage.getItem(KEY) ?? ''}` },
      credentials: 'omit',
      signal,
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Told('Unavailable', 'The viewer does not answer. Is its command still running?')
  }
  if (answer.ok) return answer
  const said = await answer.json().catch(() => null)
  throw new Told(said?.error?.kind ?? 'Unknown', said?.error?.message ?? `the server answered ${answer.status}`)
}

export async function json<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
  return (await get(path, parameters, signal)).json()
}

export async function arrow(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Batch> {
  const answer = await get(path, parameters, signal)
  return new Batch(tableFromIPC(new Uint8Array(await answer.arrayBuffer()), { useBigInt: true }))
}

/** Reads lines of JSON as they arrive. */
export async function lines<T>(path: string, parameters: Parameters, each: (line: T) => void, signal: AbortSignal) {
  const answer = await get(path, parameters, signal)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) {
      if (rest) throw new Told('Unavailable', 'The answer ended before its time')
      return
    }
    const parts = (rest + value).split('\n')
    rest = parts.pop()!
    for (const part of parts) {
      const line = JSON.parse(part)
      if (line.error) throw new Told(line.error.kind, line.error.message)
      each(line)
    }
  }
}

/** Rows of an answer. */
export class Batch {
  rows: (number | null)[]
  types = new Map<string, string>()
  /** What it took to read them. */
  taken: Taken | null
  private masks = new Map<string, boolean[]>()
  private table: Arrow
  constructor(table: Arrow) {
    this.table = table
    this.rows = JSON.parse(table.schema.metadata?.get('tetrys.rows') ?? '[]')
    this.taken = JSON.parse(table.schema.metadata?.get('tetrys.read') ?? 'null')
    const masks = JSON.parse(table.schema.metadata?.get('tetrys.masks') ?? 'null')
    table.schema.fields.forEach((field, place) => {
      this.types.set(field.name, field.metadata?.get('tetrys.type') ?? '')
      if (masks) this.masks.set(field.name, masks[place])
    })
  }
  get names(): string[] {
    return [...this.types.keys()]
  }
  value(column: string, row: number): unknown {
    return this.table.getChild(column)?.at(row) ?? null
  }
  /** Whether the table that has this column has a row here. */
  there(column: string, row: number): boolean {
    return this.rows[row] != null && (this.masks.get(column)?.[row] ?? true)
  }
}

export function choiceParameters(table: number, choice: Choice): Parameters {
  const said: Parameters = [['table', table]]
  for (const condition of choice.where) said.push(['where', condition])
  if (choice.sort) said.push(['sort', choice.sort], ['descending', choice.descending ? 1 : 0])
  if (choice.only) said.push(['only', choice.only.join(',')])
  return said
}
