// Numbers and poses along a sequence.

import type { Batch, Column } from './api'
import { bfloat, tensor } from './format'
import { role } from './roles'

export type Series = { name: string; type: string | null; unit: string | null; isFlag: boolean; values: (number | null)[] }
export type Along = { rows: number[]; plots: Series[][]; paths: { name: string; places: { row: number; x: number; y: number }[] }[] }

/** Most plots of a card. */
const MOST = 6

/** A value as a number that can be drawn. */
export function numeric(value: unknown, type: string | null): number | null {
  if (value === null || value === undefined) return null
  const number = type === 'bf16' ? bfloat(Number(value)) : Number(value)
  return Number.isFinite(number) ? number : null
}

/** Series of the same unit share a plot. */
export function plots(batch: Batch, columns: Column[]): Along {
  const rows = batch.rows.map((row) => row ?? 0)
  const found: Along = { rows, plots: [], paths: [] }
  const byUnit = new Map<string, Series[]>()
  for (const column of columns) {
    if (!batch.types.has(column.name)) continue
    if (role(column) === 'pose') {
      const places = rows.flatMap((row, at) => {
        const pose = tensor(batch.value(column.name, at), column.type ?? '')
        if (!pose) return []
        // The last column of a matrix is its translation.
        const [x, y] = pose.shape.length === 2 ? [pose.values[3], pose.values[7]] : [pose.values[0], pose.values[1]]
        return [{ row, x: Number(x), y: Number(y) }]
      })
      if (places.length > 1) found.paths.push({ name: column.name, places })
      continue
    }
    const values = rows.map((_, at) => numeric(batch.value(column.name, at), column.type))
    const series = { name: column.name, type: column.type, unit: column.unit, isFlag: column.type === 'bool', values }
    const key = column.unit ?? column.name
    if (!byUnit.has(key)) byUnit.set(key, [])
    byUnit.get(key)!.push(series)
  }
  found.plots = [...byUnit.values()].slice(0, MOST)
  return found
}
