// What a column shows, by its type and name.

import type { Column } from './api'
import { isNumber } from './format'

export type Role = 'bytes' | 'points' | 'boxes' | 'pose' | 'number' | 'text' | 'tensor' | 'other'

const FLOATS = /^(f16|bf16|f32|f64)\[/

export function role(column: Column): Role {
  const type = column.type ?? ''
  const name = column.name.toLowerCase()
  if (type === 'binary') return 'bytes'
  if (isNumber(type) || /^(date|timestamp|duration)/.test(type)) return 'number'
  if (type === 'utf8' || type === 'categorical') return 'text'
  const shape = /\[([\d,?]*)\]$/.exec(type)?.[1].split(',') ?? []
  if (FLOATS.test(type)) {
    if (shape.length === 2 && /^[34]$/.test(shape[0]) && shape[1] === '4') return 'pose'
    if (shape.length === 1 && shape[0] === '3' && /position|translation|xyz|location/.test(name)) return 'pose'
    const last = Number(shape[1])
    if (shape.length === 2 && last >= 7 && last <= 10 && /box|cuboid|object|annotation/.test(name)) return 'boxes'
    if (shape.length === 2 && last >= 3 && last <= 10 && /point|lidar|sweep|cloud|radar|xyz/.test(name)) return 'points'
  }
  if (/\[[\d,?]+\]$/.test(type)) return 'tensor'
  return 'other'
}
