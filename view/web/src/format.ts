// Values as people read them.

const whole = new Intl.NumberFormat('en')

export const count = (value: number) => whole.format(value)
export const plural = (value: number, word: string) => `${count(value)} ${word}${value === 1 ? '' : 's'}`

export function bytes(size: number): string {
  if (size < 1000) return plural(size, 'byte')
  const units = ['kB', 'MB', 'GB', 'TB']
  let place = -1
  do {
    size /= 1000
    place++
  } while (size >= 999.95 && place < 3)
  return `${size.toFixed(size < 10 ? 2 : 1)} ${units[place]}`
}

/** A time in milliseconds since 1970, in UTC. */
export const moment = (ms: number | null) => (ms === null || Number.isNaN(new Date(ms).getTime()) ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ') + ' UTC')

/** A number in at most seven digits. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞'
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value).replace('-', '−')
  const size = Math.abs(value)
  const text = size >= 1e-4 && size < 1e9 ? String(Number(value.toPrecision(7))) : value.toExponential(4)
  return text.replace('-', '−')
}

const PER_SECOND: Record<string, bigint> = { s: 1n, ms: 1_000n, us: 1_000_000n, µs: 1_000_000n, ns: 1_000_000_000n }

/** Whether values of this type are points in time, and the ticks of a second. */
export function ticks(type: string): bigint | null {
  const unit = /^timestamp\[(\w+|µs)/.exec(type)
  return unit ? (PER_SECOND[unit[1]] ?? null) : null
}

/** A point in time; one of a column with a time zone is shown in UTC, and ends with Z. */
export function time(value: bigint, type: string): string {
  const per = ticks(type) ?? 1n
  let seconds = value / per
  let rest = value % per
  if (rest < 0n) {
    rest += per
    seconds -= 1n
  }
  const date = new Date(Number(seconds) * 1000)
  if (Number.isNaN(date.getTime())) return `${value}`
  const digits = String(per).length - 1
  const fraction = digits ? '.' + String(rest).padStart(digits, '0') : ''
  return date.toISOString().slice(0, 19).replace('T', ' ') + fraction.replace(/\.?0+$/, '') + (type.includes(',') ? 'Z' : '')
}

export function duration(value: bigint, type: string): string {
  const unit = /\[(\w+|µs)\]/.exec(type)?.[1] ?? 's'
  return `${number(Number(value) / Number(PER_SECOND[unit] ?? 1n))} s`
}

export const isNumber = (type: string | null) => /^([iu](8|16|32|64)|f(16|32|64)|bf16|bool)$/.test(type ?? '')
export const isNumeric = (type: string | null) => isNumber(type) || /^(timestamp|date|duration)/.test(type ?? '')

/** A single value; tensors, lists and bytes have cards of their own. */
export function scalar(value: unknown, type: string): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'bigint') {
    if (type.startsWith('timestamp')) return time(value, type)
    if (type.startsWith('duration')) return duration(value, type)
    return String(value).replace('-', '−')
  }
  if (typeof value === 'number') {
    if (type === 'date') return new Date(value * 86_400_000).toISOString().slice(0, 10)
    return number(type === 'bf16' ? bfloat(value) : value)
  }
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  return String(value)
}

/** Most characters of a text in an answer: of longer ones, the server sends the beginning. */
const CELL = 300

/** A number as SQL has it: a large one with an exponent, since whole numbers end with those of 64 bits. */
export const decimal = (value: number) => (Math.abs(value) < 2 ** 53 ? String(value) : value.toExponential())

/** A value of a column as a literal of SQL; null where it has none, or is not whole. */
export function literal(value: unknown, type: string): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint' && !/^[iu]/.test(type)) return null
  if (typeof value === 'number' && !Number.isFinite(value)) return null
  if (typeof value === 'string' && Array.from(value).length > CELL) return null
  if (typeof value === 'number') return type === 'date' ? null : decimal(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  return `'${String(value).replaceAll("'", "''")}'`
}

export const quoted = (column: string) => `"${column.replaceAll('"', '""')}"`

const floats = new Float32Array(1)
const words = new Uint32Array(floats.buffer)
export function bfloat(bits: number): number {
  words[0] = bits << 16
  return floats[0]
}

/** The media type of a picture by its first bytes; SVG is no picture here, since it may hold scripts. */
export function picture(value: unknown): string | null {
  if (!(value instanceof Uint8Array) || value.length < 12) return null
  const text = (from: number, to: number) => String.fromCharCode(...value.subarray(from, to))
  if (value[0] === 0xff && value[1] === 0xd8 && value[2] === 0xff) return 'image/jpeg'
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png'
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'image/webp'
  if (text(4, 8) === 'ftyp' && /^avi[fs]$/.test(text(8, 12))) return 'image/avif'
  return null
}

export type Tensor = { values: ArrayLike<number | bigint>; shape: number[] }

/** The elements and the shape of a tensor or a list, by the type of its column. */
export function tensor(value: unknown, type: string): Tensor | null {
  const shape = /\[([\d,?]*)\]$/.exec(type)?.[1]
  if (value === null || value === undefined || shape === undefined || /^(timestamp|duration)/.test(type)) return null
  const found = value as { data?: ArrayLike<number>; shape?: ArrayLike<number> }
  const values = found.data && found.shape ? found.data : (value as ArrayLike<number>)
  const extents = found.data && found.shape ? Array.from(found.shape) : shape.split(',').filter(Boolean).map(Number)
  return { values: type.startsWith('bf16[') ? Float32Array.from(values, bfloat) : values, shape: extents }
}

export type Statistics = { least: number; most: number; mean: number; nan: number }

export function statistics(values: ArrayLike<number | bigint>): Statistics {
  let least = Infinity
  let most = -Infinity
  let sum = 0
  let nan = 0
  for (let place = 0; place < values.length; place++) {
    const value = Number(values[place])
    if (Number.isNaN(value)) nan++
    else {
      if (value < least) least = value
      if (value > most) most = value
      sum += value
    }
  }
  return { least, most, mean: sum / Math.max(1, values.length - nan), nan }
}
