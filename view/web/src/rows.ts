// The rows of a selection, read in pages as the grid needs them.

import { arrow, type Batch, type Parameters } from './api'

/** Rows of a page. */
const PAGE = 128
/** Pages that are kept. */
const KEPT = 64

export class Pages {
  private pages = new Map<number, Batch>()
  private wanted: number[] = []
  private running = new Map<number, AbortController>()
  private parameters: Parameters
  private changed: (error?: unknown) => void

  constructor(parameters: Parameters, changed: (error?: unknown) => void) {
    this.parameters = parameters
    this.changed = changed
  }

  /** Says which rows are on the screen: their pages are read, and reads of others end. */
  look(first: number, end: number) {
    const from = Math.floor(first / PAGE)
    const to = Math.floor(Math.max(first, end - 1) / PAGE)
    this.wanted = []
    for (let page = from; page <= to; page++) this.wanted.push(page)
    for (const [page, running] of this.running) {
      if (page < from - 1 || page > to + 1) {
        running.abort()
        this.running.delete(page)
      }
    }
    for (const page of this.wanted) this.read(page)
  }

  row(row: number): { batch: Batch; place: number } | null {
    const page = Math.floor(row / PAGE)
    const batch = this.pages.get(page)
    return batch && row - page * PAGE < batch.rows.length ? { batch, place: row - page * PAGE } : null
  }

  close() {
    for (const running of this.running.values()) running.abort()
  }

  private async read(page: number) {
    if (this.pages.has(page) || this.running.has(page)) return
    const control = new AbortController()
    this.running.set(page, control)
    try {
      const batch = await arrow('rows', [...this.parameters, ['start', page * PAGE], ['count', PAGE]], control.signal)
      this.pages.set(page, batch)
      if (this.pages.size > KEPT) {
        const far = [...this.pages.keys()].find((other) => !this.wanted.includes(other))
        if (far !== undefined) this.pages.delete(far)
      }
      this.changed()
    } catch (error) {
      if (!control.signal.aborted) this.changed(error)
    } finally {
      if (this.running.get(page) === control) this.running.delete(page)
    }
  }
}
