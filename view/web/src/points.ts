// Points, boxes and axes in three dimensions. This file is loaded when a table has points.
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  GridHelper,
  LineBasicMaterial,
  LineSegments,
  MOUSE,
  OrthographicCamera,
  PerspectiveCamera,
  Points,
  PointsMaterial,
  Scene,
  TOUCH,
  Vector3,
  WebGLRenderer,
} from 'three'
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js'
import type { Tensor } from './format'

/** Most points that are drawn; of more, every second one, every third one and so on. */
const MOST = 400_000

/** Colours by height, from low to high. */
const RAMP = ['#3b4cc0', '#3f8dd6', '#3fbfa8', '#a9c94a', '#f0a83c', '#d6503f'].map((text) => new Color(text))

function ramp(share: number, into: Float32Array, place: number) {
  const at = Math.min(0.9999, Math.max(0, share)) * (RAMP.length - 1)
  const [low, high, rest] = [RAMP[Math.floor(at)], RAMP[Math.floor(at) + 1], at % 1]
  into[place] = low.r + (high.r - low.r) * rest
  into[place + 1] = low.g + (high.g - low.g) * rest
  into[place + 2] = low.b + (high.b - low.b) * rest
}

export type Cloud = { points: Tensor | null; boxes: Tensor | null }

export class Scene3 {
  private renderer: WebGLRenderer
  private scene = new Scene()
  private perspective = new PerspectiveCamera(50, 1, 0.1, 5000)
  private above = new OrthographicCamera(-1, 1, 1, -1, -2000, 4000)
  private controls: OrbitControls
  private shown: (Points | LineSegments)[] = []
  private grid: GridHelper
  private radius = 40
  private fromAbove = false
  private placed = false
  private asked = 0

  constructor(canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true })
    this.renderer.setPixelRatio(Math.min(2, devicePixelRatio))
    this.perspective.up.set(0, 0, 1)
    this.grid = new GridHelper(200, 20, 0x808890, 0x808890)
    this.grid.rotation.x = Math.PI / 2
    this.grid.material.transparent = true
    this.grid.material.opacity = 0.22
    this.scene.add(this.grid)
    this.controls = this.controlsOf(this.perspective)
  }

  private controlsOf(camera: PerspectiveCamera | OrthographicCamera) {
    const controls = new OrbitControls(camera, this.renderer.domElement)
    controls.enableRotate = camera === this.perspective
    if (camera === this.above) {
      controls.mouseButtons = { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN }
      controls.touches = { ONE: TOUCH.PAN, TWO: TOUCH.DOLLY_PAN }
    }
    controls.addEventListener('change', () => this.draw())
    return controls
  }

  /** Looks from above, north at the top, or from behind. */
  look(fromAbove: boolean) {
    this.fromAbove = fromAbove
    const camera = fromAbove ? this.above : this.perspective
    const reach = this.radius
    if (fromAbove) {
      camera.up.set(0, 1, 0)
      camera.position.set(0, 0, 500)
    } else camera.position.set(-1.1 * reach, -0.5 * reach, 0.75 * reach)
    camera.lookAt(new Vector3(0, 0, 0))
    this.controls.dispose()
    this.controls = this.controlsOf(camera)
    this.size()
  }

  show({ points, boxes }: Cloud, ink: string) {
    for (const one of this.shown) {
      this.scene.remove(one)
      one.geometry.dispose()
    }
    this.shown = []
    if (points && points.shape[0]) this.add(this.cloud(points))
    if (boxes && boxes.shape[0]) this.add(this.cuboids(boxes, ink))
    if (!this.placed) {
      this.placed = true
      this.look(this.fromAbove)
    } else this.draw()
  }

  private add(one: Points | LineSegments) {
    this.shown.push(one)
    this.scene.add(one)
  }

  private cloud({ values, shape }: Tensor): Points {
    const [rows, wide] = shape
    const every = Math.ceil(rows / MOST)
    const count = Math.floor((rows + every - 1) / every)
    const places = new Float32Array(3 * count)
    const colours = new Float32Array(3 * count)
    const heights: number[] = []
    const reaches: number[] = []
    for (let point = 0; point < count; point++) {
      for (let axis = 0; axis < 3; axis++) places[3 * point + axis] = Number(values[point * every * wide + axis])
      if (point % 13 === 0) {
        heights.push(places[3 * point + 2])
        reaches.push(Math.hypot(places[3 * point], places[3 * point + 1]))
      }
    }
    const order = (left: number, right: number) => left - right
    heights.sort(order)
    reaches.sort(order)
    const at = (sorted: number[], share: number) => sorted[Math.floor(share * (sorted.length - 1))] || 0
    const [low, high] = [at(heights, 0.02), at(heights, 0.98)]
    if (!this.placed) this.radius = Math.max(2, at(reaches, 0.9))
    for (let point = 0; point < count; point++) ramp((places[3 * point + 2] - low) / Math.max(1e-6, high - low), colours, 3 * point)
    const geometry = new BufferGeometry()
    geometry.setAttribute('position', new BufferAttribute(places, 3))
    geometry.setAttribute('color', new BufferAttribute(colours, 3))
    return new Points(geometry, new PointsMaterial({ size: 1.8, sizeAttenuation: false, vertexColors: true }))
  }

  /** Boxes are centre x, y, z, length, width, height and the angle about the vertical axis. */
  private cuboids({ values, shape }: Tensor, ink: string): LineSegments {
    const [rows, wide] = shape
    const edges = [0, 1, 1, 3, 3, 2, 2, 0, 4, 5, 5, 7, 7, 6, 6, 4, 0, 4, 1, 5, 2, 6, 3, 7]
    const places = new Float32Array(rows * edges.length * 3)
    let place = 0
    for (let box = 0; box < rows; box++) {
      const [x, y, z, long, broad, high, angle] = Array.from({ length: 7 }, (_, part) => Number(values[box * wide + part]))
      const [sine, cosine] = [Math.sin(angle), Math.cos(angle)]
      for (const corner of edges) {
        const [dx, dy, dz] = [(corner & 1 ? 0.5 : -0.5) * long, (corner & 2 ? 0.5 : -0.5) * broad, (corner & 4 ? 0.5 : -0.5) * high]
        places[place++] = x + cosine * dx - sine * dy
        places[place++] = y + sine * dx + cosine * dy
        places[place++] = z + dz
      }
    }
    const geometry = new BufferGeometry()
    geometry.setAttribute('position', new BufferAttribute(places, 3))
    return new LineSegments(geometry, new LineBasicMaterial({ color: new Color(ink) }))
  }

  size() {
    const { clientWidth: wide, clientHeight: high } = this.renderer.domElement
    if (!wide || !high) return
    this.renderer.setSize(wide, high, false)
    this.perspective.aspect = wide / high
    this.perspective.updateProjectionMatrix()
    const half = this.radius * 1.15
    const share = wide / high
    Object.assign(this.above, { left: -half * share, right: half * share, top: half, bottom: -half })
    this.above.updateProjectionMatrix()
    this.draw()
  }

  private draw() {
    if (this.asked) return
    this.asked = requestAnimationFrame(() => {
      this.asked = 0
      this.renderer.render(this.scene, this.fromAbove ? this.above : this.perspective)
    })
  }

  close() {
    cancelAnimationFrame(this.asked)
    this.controls.dispose()
    for (const one of this.shown) one.geometry.dispose()
    this.renderer.dispose()
  }
}
