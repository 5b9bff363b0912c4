// A street as the answers of a server have it, for the picture in the guide: it depends on the row alone.

const FRAMES = 248
const KINDS = ['vehicles', 'cyclists', 'pedestrians', 'others']
const LABELS = ['car', 'cyclist', 'pedestrian', 'unknown']
const EXTENTS = [[4.4, 1.9, 1.6], [1.8, 0.6, 1.6], [0.7, 0.6, 1.7], [1.2, 0.9, 1.1]]
/** A number between 0 and 1 for each place of a list. */
const spread = (place) => (place * 0.618034) % 1

function agents(row) {
  return Array.from({ length: 38 }, (_, place) => {
    const kind = place % 11 === 3 ? 1 : place % 9 === 4 ? 2 : place % 7 === 6 ? 3 : 0
    const lane = kind === 2 ? (place % 2 ? 14 : -14) : [-3.6, 0, 3.6, 7.2, -7.2][place % 5]
    const ahead = lane > 2 ? -1 : 1
    const speed = kind === 3 ? 0 : kind === 2 ? 1.4 : [8, 6, 9, 5, 0][place % 5] * (kind === 1 ? 0.5 : 1)
    return {
      track: String(100 + place),
      x: 80 + spread(place) * 240 - 120 + ahead * speed * 0.1 * (row - 100),
      y: lane + 0.5 * spread(place + 50),
      yaw: ahead > 0 ? 0.02 : Math.PI + 0.02,
      extent: EXTENTS[kind],
      velocity: [ahead * speed, 0],
      kind,
      label: LABELS[kind],
      probability: 0.97,
    }
  })
}
const ego = (row) => ({ x: row * 0.8, y: 0, z: 1, yaw: 0, extent: [4.87, 1.85, 1.8] })

/** The answer for a row and those around it. */
export function scene(row, before, after) {
  const now = agents(row)
  const [there, path, tracks] = [[], [], now.map(() => [])]
  for (let offset = -before; offset <= after; offset++) {
    there.push(row + offset >= 0 && row + offset < FRAMES)
    if (!there.at(-1) || !offset) continue
    path.push([offset, ego(row + offset).x, ego(row + offset).y])
    agents(row + offset).forEach((agent, place) => tracks[place].push([offset, agent.x, agent.y]))
  }
  const lights = [0, 1, 2, 3].flatMap((light) =>
    ['red', 'yellow', 'green'].map((colour, face) => {
      const isOn = face === [0, 0, 2, 1][light]
      return { face: `face ${light}${colour[0]}`, light: `light ${light}`, state: isOn ? 'active' : 'inactive', probabilities: isOn ? [1, 0, 0] : [0, 1, 0], colour, ends: [[107, -3.6 + 3.6 * light]] }
    }),
  )
  const facts = [['scene', '0', 'u32'], ['frame of the scene', String(row), 'u32'], ['time', String(1571846863319362048n + BigInt(row) * 100000000n), 'timestamp[ns]'], ['host', 'host-a013', 'utf8']]
  const around = before + after ? { before, after, there, ego: path, tracks, cut: false } : null
  return { facts, there: true, ego: ego(row), agents: now, agent_count: now.length, kinds: KINDS, lights, light_count: lights.length, around, map: true, hint: null, failures: {}, read: { requests: 7, bytes: 41_234, ms: 12.3 } }
}

/** The ground: a street with six lanes, and one that crosses it. */
export function ground() {
  const lane = (id, left, right) => ({ id, left, right })
  const lanes = []
  for (let side = -2; side < 4; side++) {
    for (let part = -3; part < 10; part++) {
      const [start, y] = [part * 40 - 8, side * 3.6]
      lanes.push(lane(`along ${side} ${part}`, [[start, y + 1.8], [start + 40, y + 1.8]], [[start, y - 1.8], [start + 40, y - 1.8]]))
    }
    const x = 122 + side * 3.6
    lanes.push(lane(`across ${side}`, [[x - 1.8, -160], [x - 1.8, 160]], [[x + 1.8, -160], [x + 1.8, 160]]))
  }
  const walk = (id, x) => ({ id, outline: [[x, -9], [x + 3.5, -9], [x + 3.5, 12.6], [x, 12.6]] })
  return { lanes, crosswalks: [walk('near', 108), walk('far', 136)], cut: false }
}
