// The picture of a row from above: what the server answers, and how it is drawn. Metres east and north become pixels around the own car.

export type Agent = {
  track: string
  x: number | null
  y: number | null
  yaw: number | null
  extent: (number | null)[]
  velocity: (number | null)[] | null
  kind: number
  label: string | null
  probability: number | null
}
export type Light = { face: string; light: string; state: 'active' | 'inactive' | 'unknown'; probabilities: (number | null)[]; colour: 'red' | 'yellow' | 'green' | null; ends: [number, number][] }
export type Step = [offset: number, x: number | null, y: number | null]
export type Around = { before: number; after: number; there: boolean[] | null; ego: Step[]; tracks: Step[][]; cut: boolean }
export type SceneInfo = {
  facts: [name: string, value: string, type: string][]
  there: boolean
  ego: { x: number | null; y: number | null; z: number | null; yaw: number | null; extent: number[] } | null
  agents: Agent[]
  agent_count: number
  kinds: string[]
  lights: Light[]
  light_count: number
  around: Around | null
  map: boolean
  hint: string | null
  failures: Record<string, string>
  read: { requests: number; bytes: number; ms: number }
}
export type GroundInfo = { lanes: { id: string; left: [number, number][]; right: [number, number][] }[]; crosswalks: { id: string; outline: [number, number][] }[]; cut: boolean }

/** How the picture is looked at: metres over the shorter side, the middle, and the angle of the world that points up. */
export type Look = { wide: number; high: number; metres: number; x: number; y: number; up: number }
export type Ink = Record<'ground' | 'lane' | 'edge' | 'walk' | 'ink' | 'soft' | 'ego' | 'red' | 'yellow' | 'green', string> & { kinds: string[] }

/** Fewest and most metres over the shorter side. */
export const CLOSEST = 15
export const FARTHEST = 320

const scale = (look: Look) => Math.min(look.wide, look.high) / look.metres
const finite = (...numbers: (number | null | undefined)[]) => numbers.every((one) => typeof one === 'number' && Number.isFinite(one))

/** The pixel of a place. */
export function pixel(look: Look, x: number, y: number): [number, number] {
  const turn = Math.PI / 2 - look.up
  const [east, north] = [x - look.x, y - look.y]
  const [right, up] = [east * Math.cos(turn) - north * Math.sin(turn), east * Math.sin(turn) + north * Math.cos(turn)]
  return [look.wide / 2 + right * scale(look), look.high / 2 - up * scale(look)]
}

/** The corners of a box, front left first, and the middle of its front. */
function corners(x: number, y: number, yaw: number, long: number, broad: number): [number, number][] {
  const [sine, cosine] = [Math.sin(yaw), Math.cos(yaw)]
  const at = (ahead: number, left: number): [number, number] => [x + ahead * cosine - left * sine, y + ahead * sine + left * cosine]
  return [at(long / 2, broad / 2), at(long / 2, -broad / 2), at(-long / 2, -broad / 2), at(-long / 2, broad / 2), at(long / 2, 0)]
}

/** The agent at a pixel: one whose box has it, or the nearest within some pixels. */
export function agentAt(look: Look, agents: Agent[], left: number, top: number): number | null {
  let found: number | null = null
  let nearest = 14
  agents.forEach((agent, place) => {
    if (!finite(agent.x, agent.y)) return
    const [x, y] = pixel(look, agent.x!, agent.y!)
    const distance = Math.max(0, Math.hypot(x - left, y - top) - (Math.max(agent.extent[0] ?? 0, agent.extent[1] ?? 0) / 2) * scale(look))
    const tie = Math.hypot(x - left, y - top) / 1e4
    if (distance + tie < nearest) [nearest, found] = [distance + tie, place]
  })
  return found
}

function trace(context: CanvasRenderingContext2D, look: Look, places: [number, number][], isClosed = false) {
  places.forEach(([x, y], at) => {
    const [left, top] = pixel(look, x, y)
    if (at) context.lineTo(left, top)
    else context.moveTo(left, top)
  })
  if (isClosed) context.closePath()
}

function drawGround(context: CanvasRenderingContext2D, look: Look, ground: GroundInfo, ink: Ink) {
  context.fillStyle = ink.lane
  for (const lane of ground.lanes) {
    context.beginPath()
    trace(context, look, [...lane.left, ...lane.right.toReversed()], true)
    context.fill()
  }
  context.strokeStyle = ink.edge
  context.lineWidth = 1
  context.beginPath()
  for (const lane of ground.lanes) {
    trace(context, look, lane.left)
    trace(context, look, lane.right)
  }
  context.stroke()
  // Crosswalks are striped, as they are.
  context.strokeStyle = ink.walk
  for (const walk of ground.crosswalks) {
    const places = walk.outline.map(([x, y]) => pixel(look, x, y))
    if (places.length < 3) continue
    const [lefts, tops] = [places.map((one) => one[0]), places.map((one) => one[1])]
    const [west, east, top, bottom] = [Math.min(...lefts), Math.max(...lefts), Math.min(...tops), Math.max(...tops)]
    if (east < 0 || west > look.wide || bottom < 0 || top > look.high) continue
    context.save()
    context.beginPath()
    trace(context, look, walk.outline, true)
    context.lineWidth = 1
    context.stroke()
    context.clip()
    const gap = Math.max(4, 1.2 * scale(look))
    context.lineWidth = gap / 2
    context.beginPath()
    // Stripes are drawn where the picture is, however large the crosswalk is. Cut above, they stay where they are: by whole gaps.
    const [upper, lower] = [Math.max(top, -gap), Math.min(bottom, look.high + gap)]
    const start = Math.max(west, -gap) - ((upper - top) % gap)
    for (let at = start - (lower - upper); at < Math.min(east, look.wide + gap); at += gap) {
      context.moveTo(at, lower)
      context.lineTo(at + (lower - upper), upper)
    }
    context.stroke()
    context.restore()
  }
}

/** A track: what was is solid, what will be is dashed. */
function drawTrack(context: CanvasRenderingContext2D, look: Look, here: [number, number], steps: Step[], colour: string, isStrong: boolean) {
  const places = (some: Step[]) => some.filter((step) => finite(step[1], step[2])).map((step): [number, number] => [step[1]!, step[2]!])
  context.strokeStyle = colour
  context.globalAlpha = isStrong ? 1 : 0.55
  context.lineWidth = isStrong ? 2.5 : 1.25
  for (const [some, dash] of [[[...places(steps.filter((step) => step[0] < 0)), here], []], [[here, ...places(steps.filter((step) => step[0] > 0))], [5, 4]]] as [[number, number][], number[]][]) {
    if (some.length < 2) continue
    context.setLineDash(dash)
    context.beginPath()
    trace(context, look, some)
    context.stroke()
  }
  context.setLineDash([])
  context.globalAlpha = 1
}

function drawBox(context: CanvasRenderingContext2D, look: Look, box: { x: number; y: number; yaw: number; extent: (number | null)[] }, colour: string, kind: number, isStrong: boolean, isFilled: boolean) {
  const [left, top] = pixel(look, box.x, box.y)
  if (left < -80 || top < -80 || left > look.wide + 80 || top > look.high + 80) return
  const least = 5 / scale(look)
  const places = corners(box.x, box.y, box.yaw, Math.max(box.extent[0] ?? 0, least), Math.max(box.extent[1] ?? 0, least))
  const front = places.pop()!
  context.beginPath()
  trace(context, look, places, true)
  context.fillStyle = colour
  context.globalAlpha = isFilled ? 1 : isStrong ? 0.5 : 0.22
  context.fill()
  context.globalAlpha = 1
  context.strokeStyle = colour
  context.lineWidth = isStrong ? 2.5 : 1.5
  // Kinds differ by more than their colour: others are dashed, pedestrians have a dot, cyclists a bar across.
  if (kind === 3) context.setLineDash([3, 2])
  context.stroke()
  context.setLineDash([])
  context.beginPath()
  if (!isFilled) trace(context, look, [[box.x, box.y], front])
  context.stroke()
  if (kind === 1) {
    const [sine, cosine] = [Math.sin(box.yaw), Math.cos(box.yaw)]
    const half = 5 / scale(look)
    context.beginPath()
    trace(context, look, [[box.x + half * sine, box.y - half * cosine], [box.x - half * sine, box.y + half * cosine]])
    context.stroke()
  }
  if (kind === 2) {
    context.beginPath()
    context.arc(left, top, 3, 0, 7)
    context.fill()
  }
}

/** Lights by the place where they count: an active one, else one that was not recognised. */
export function lightsByPlace(lights: Light[]): { x: number; y: number; light: Light }[] {
  const rank = (light: Light) => (light.state === 'active' ? 2 : light.state === 'unknown' ? 1 : 0)
  const found = new Map<string, { x: number; y: number; light: Light }>()
  for (const light of lights) {
    for (const [x, y] of light.ends) {
      const before = found.get(`${x},${y}`)
      if (!before || rank(light) > rank(before.light)) found.set(`${x},${y}`, { x, y, light })
    }
  }
  return [...found.values()]
}

/** A sign for a light: red is a square, yellow a triangle, green a circle; full if it is on, hollow if not. */
function drawLight(context: CanvasRenderingContext2D, left: number, top: number, light: Light, ink: Ink) {
  const size = 6
  context.beginPath()
  if (light.colour === 'red') context.rect(left - size, top - size, 2 * size, 2 * size)
  else if (light.colour === 'yellow') {
    context.moveTo(left, top - size - 1)
    context.lineTo(left + size + 1, top + size)
    context.lineTo(left - size - 1, top + size)
    context.closePath()
  } else context.arc(left, top, size, 0, 7)
  const isOn = light.state === 'active'
  context.fillStyle = isOn && light.colour ? ink[light.colour] : ink.ground
  context.fill()
  context.strokeStyle = isOn ? ink.ink : ink.soft
  context.lineWidth = 1.5
  if (light.state === 'unknown') context.setLineDash([2, 2])
  context.stroke()
  context.setLineDash([])
}

/** A line of a round number of metres. */
function drawScale(context: CanvasRenderingContext2D, look: Look, ink: Ink) {
  const metres = [1, 2, 5, 10, 20, 50, 100].findLast((one) => one * scale(look) <= 120) ?? 1
  const wide = metres * scale(look)
  context.strokeStyle = ink.soft
  context.fillStyle = ink.soft
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(14, look.high - 18)
  context.lineTo(14, look.high - 14)
  context.lineTo(14 + wide, look.high - 14)
  context.lineTo(14 + wide, look.high - 18)
  context.stroke()
  context.font = '12px system-ui, sans-serif'
  context.fillText(`${metres} m`, 14, look.high - 24)
  // An arrow that points to the north of the map.
  const [right, top] = [look.wide - 24, look.high - 26]
  const turn = look.up - Math.PI / 2
  const [dx, dy] = [Math.sin(turn), -Math.cos(turn)]
  context.beginPath()
  context.moveTo(right - 9 * dx, top - 9 * dy)
  context.lineTo(right + 9 * dx, top + 9 * dy)
  context.moveTo(right + 9 * dx - 5 * dx - 4 * dy, top + 9 * dy - 5 * dy + 4 * dx)
  context.lineTo(right + 9 * dx, top + 9 * dy)
  context.lineTo(right + 9 * dx - 5 * dx + 4 * dy, top + 9 * dy - 5 * dy - 4 * dx)
  context.stroke()
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText('N', right + 17 * dx, top + 17 * dy)
  context.textAlign = 'start'
  context.textBaseline = 'alphabetic'
}

export function draw(context: CanvasRenderingContext2D, look: Look, scene: SceneInfo, ground: GroundInfo | null, ink: Ink, chosen: number | null, hovered: number | null) {
  context.fillStyle = ink.ground
  context.fillRect(0, 0, look.wide, look.high)
  context.lineJoin = 'round'
  context.lineCap = 'round'
  if (ground) drawGround(context, look, ground, ink)
  const isStrong = (place: number) => place === chosen || place === hovered
  scene.agents.forEach((agent, place) => {
    if (scene.around && finite(agent.x, agent.y)) drawTrack(context, look, [agent.x!, agent.y!], scene.around.tracks[place] ?? [], ink.kinds[agent.kind], isStrong(place))
  })
  if (scene.ego && scene.around && finite(scene.ego.x, scene.ego.y)) drawTrack(context, look, [scene.ego.x!, scene.ego.y!], scene.around.ego, ink.ego, true)
  for (const one of lightsByPlace(scene.lights)) {
    const [left, top] = pixel(look, one.x, one.y)
    if (one.light.state !== 'inactive' && left > -10 && top > -10 && left < look.wide + 10 && top < look.high + 10) drawLight(context, left, top, one.light, ink)
  }
  scene.agents.forEach((agent, place) => {
    if (finite(agent.x, agent.y, agent.yaw)) drawBox(context, look, agent as { x: number; y: number; yaw: number; extent: number[] }, ink.kinds[agent.kind], agent.kind, isStrong(place), false)
  })
  const { ego } = scene
  if (ego && finite(ego.x, ego.y, ego.yaw)) {
    drawBox(context, look, ego as { x: number; y: number; yaw: number; extent: number[] }, ink.ego, 0, true, true)
    // The front of the own car.
    const [sine, cosine] = [Math.sin(ego.yaw!), Math.cos(ego.yaw!)]
    const at = (ahead: number, left: number): [number, number] => [ego.x! + ahead * cosine - left * sine, ego.y! + ahead * sine + left * cosine]
    context.fillStyle = ink.ground
    context.beginPath()
    trace(context, look, [at(ego.extent[0] * 0.38, 0), at(ego.extent[0] * 0.05, ego.extent[1] * 0.3), at(ego.extent[0] * 0.05, -ego.extent[1] * 0.3)], true)
    context.fill()
  }
  drawScale(context, look, ink)
}
