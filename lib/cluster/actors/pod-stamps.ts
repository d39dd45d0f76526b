/** Pods of one template differ in their names, uids, times, nodes and addresses only, and so do the
 *  writes that make them, bind them and say that they run. These three are worked out once for a
 *  template (`trials.ts`), and stamped for its other pods: a pod took milliseconds of the
 *  processor, nearly all of them to find out again what is the same for all.
 *
 *  Whoever asks for a stamped write gets undefined where there is no stamp, or the stored object is
 *  not what it was made for: then the write goes the whole way. */

import type { Key } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import { type Random, randomInt } from '../../base/random.ts'
import { textFromMilliseconds } from '../../go/time.ts'
import type { KeyValue } from '../../store/event.ts'
import type { ApiCluster } from '../controllers/api-cluster.ts'
import type { ObjectPlace } from '../controllers/cluster.ts'
import { entryOf } from '../write/operations/session.ts'
import type { Variables } from '../stamps/stamp.ts'
import type { Pod } from './objects.ts'
import { containerId, runningStatus } from './pod-status.ts'
import { type ProvenStamp, Trials, type TrialsOptions } from './trials.ts'
import type { Labels } from './objects.ts'

/** The places of values in the variables. */
const [uidAt, suffixAt, nodeAt, podAddressAt, nodeAddressAt, idsAt] = [0, 1, 5, 6, 7, 8]
const [createdAt, boundAt, startedAt] = [0, 1, 2]
const suffixesMax = nodeAt - suffixAt
const message = 'core/v1.Pod'

/** A template is worth a stamp once so many pods of it have been made. */
const worthAfter = 4
/** One that could not be stamped is tried again after so many. */
const retriedAfter = 500
const templatesMax = 200
/** Pods that are on their way to run. */
const podsMax = 50_000
/** The stamps of a template for nodes of different zones. */
const zonesMax = 20

/** Labels of nodes that become labels of pods (`admission/plugins/pod-topology-labels.ts`). */
const zoneLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

interface Made extends ProvenStamp {
  readonly marks: readonly [Variables, Variables]
}

interface Bound extends ProvenStamp {
  /** Undefined: not known yet; false: there is none. */
  running: (ProvenStamp & { readonly containers: readonly string[] }) | false | undefined
}

interface Template {
  /** Pods that were made of it. */
  count: number
  made: Made | false | undefined
  readonly bound: Map<string, Bound | false>
}

export interface PodStampsOptions extends TrialsOptions {
  /** The API of those who bind pods and run them. */
  readonly kubelet: ApiCluster
  readonly logger: Logger
}

export class PodStamps {
  readonly #options: PodStampsOptions
  readonly #trials: Trials
  readonly #templates = new Map<string, Template>()
  readonly #pods = new Map<Key, { readonly template: Template; bound?: Bound }>()

  constructor(options: PodStampsOptions) {
    this.#options = options
    this.#trials = new Trials(options)
  }

  /** A new pod; undefined if there is no stamp for it. */
  async create(
    cluster: ApiCluster,
    place: ObjectPlace,
    object: object,
  ): Promise<KeyValue | undefined> {
    const template = this.#templateOf(`${place.namespace} ${JSON.stringify(object)}`)
    if (++template.count < worthAfter) return undefined
    if (template.made === false) {
      // Whoever decided or counted may be gone after a while.
      if (template.count > retriedAfter) Object.assign(template, { count: 0, made: undefined })
      return undefined
    }
    if (template.made?.isCurrent() !== true) {
      template.bound.clear()
      template.made = (await this.#proveCreate(cluster, place, object)) ?? false
      if (template.made === false) return undefined
      const { namespace } = place
      this.#options.logger.debug('pods are stamped from now on', { namespace })
    }
    const { made } = template
    const { services } = cluster
    const texts = [services.uid(), ...Array.from({ length: suffixesMax }, services.nameSuffix)]
    const numbers = [secondsOf(services.clock.wallMs())]
    const key = keyBy(made, texts)
    const entry = await commit(cluster, { key, expected: 0 }, made.stamp.fill({ texts, numbers }))
    if (entry !== undefined && this.#pods.size < podsMax) this.#pods.set(key, { template })
    return entry
  }

  /** The pod with its node. */
  async bind(
    entry: KeyValue,
    place: ObjectPlace,
    node: { readonly key: Key; readonly name: string; readonly labels: Labels },
  ): Promise<KeyValue | undefined> {
    const { kubelet } = this.#options
    const pod = this.#pods.get(entry.key)
    const made = pod?.template.made
    if (pod === undefined || !made) return undefined
    const found = made.stamp.read(entry.value.subarray(0, entry.valueLength))
    if (found === undefined) return undefined
    const zone = JSON.stringify(zoneLabels.map(label => node.labels[label] ?? null))
    const { bound: stamps } = pod.template
    let bound = stamps.get(zone)
    if (bound === undefined || (bound !== false && !bound.isCurrent())) {
      if (stamps.size >= zonesMax) stamps.clear()
      const trial = await this.#proveBind(made, place, node.key)
      stamps.set(zone, (bound = trial ?? false))
    }
    if (bound === false) return undefined
    const variables = filled(found, {
      texts: [[nodeAt, node.name]],
      numbers: [[boundAt, secondsOf(kubelet.services.clock.wallMs())]],
    })
    const change = { key: entry.key, expected: entry.modRevision }
    const written = await commit(kubelet, change, bound.stamp.fill(variables))
    if (written !== undefined) pod.bound = bound
    return written
  }

  /** The pod when it runs. */
  async run(
    entry: KeyValue,
    place: ObjectPlace,
    addresses: { readonly podAddress: string; readonly nodeAddress: string },
  ): Promise<KeyValue | undefined> {
    const { kubelet } = this.#options
    const pod = this.#pods.get(entry.key)
    this.#pods.delete(entry.key)
    const { bound } = pod ?? {}
    const made = pod?.template.made
    if (bound === undefined || !made || bound.running === false) return undefined
    const found = bound.stamp.read(entry.value.subarray(0, entry.valueLength))
    if (found === undefined) return undefined
    if (bound.running?.isCurrent() !== true) {
      bound.running = (await this.#proveRun({ made, bound }, place)) ?? false
      if (bound.running === false) return undefined
    }
    const { stamp, containers } = bound.running
    const ids = containers.map(name => containerId(found.texts[uidAt] ?? '', name))
    const variables = filled(found, {
      texts: [
        [podAddressAt, addresses.podAddress],
        [nodeAddressAt, addresses.nodeAddress],
        ...ids.map((id, i) => [idsAt + i, id] as const),
      ],
      numbers: [[startedAt, secondsOf(kubelet.services.clock.wallMs())]],
    })
    const change = { key: entry.key, expected: entry.modRevision }
    return commit(kubelet, change, stamp.fill(variables))
  }

  forget(key: Key): void {
    this.#pods.delete(key)
  }

  #templateOf(text: string): Template {
    const known = this.#templates.get(text)
    if (known !== undefined) return known
    const [oldest] = this.#templates.keys()
    if (this.#templates.size >= templatesMax && oldest !== undefined) this.#templates.delete(oldest)
    const made: Template = { count: 0, made: undefined, bound: new Map() }
    this.#templates.set(text, made)
    return made
  }

  async #proveCreate(
    cluster: ApiCluster,
    place: ObjectPlace,
    object: object,
  ): Promise<Made | undefined> {
    const marks = drawMarks(this.#options.random)
    const proven = await this.#trials.prove(message, marks, ({ texts, numbers }) => {
      const suffixes = texts.slice(suffixAt, suffixAt + suffixesMax)
      const values = { uid: texts[uidAt] ?? '', suffixes, nowMs: at(numbers, createdAt) }
      return this.#trials.run(cluster, { values }, api => api.create(place, object))
    })
    return proven && { ...this.#current(cluster, proven), marks }
  }

  async #proveBind(
    { marks, stamp, key }: Made,
    place: ObjectPlace,
    node: Key,
  ): Promise<Bound | undefined> {
    const { kubelet } = this.#options
    const prefix = node.slice(0, node.lastIndexOf('/') + 1)
    const proven = await this.#trials.prove(message, marks, mark => {
      const pod = entryOf(keyBy({ key, marks }, mark.texts), stamp.fill(mark), 1)
      const to = { ...place, name: kubelet.placeOf(pod.key)?.name ?? '' }
      const name = mark.texts[nodeAt] ?? ''
      const values = { uid: '', suffixes: [], nowMs: at(mark.numbers, boundAt) }
      const alias = { made: `${prefix}${name}` as Key, real: node }
      return this.#trials.run(kubelet, { values, live: pod, alias }, api => api.bind(to, name))
    })
    return proven && { ...this.#current(kubelet, proven), running: undefined }
  }

  async #proveRun(
    { made, bound }: { readonly made: Made; readonly bound: Bound },
    place: ObjectPlace,
  ): Promise<Exclude<Bound['running'], false>> {
    const { kubelet } = this.#options
    let containers: readonly string[] = []
    const proofs = made.marks.map(mark => {
      const live = entryOf(keyBy(made, mark.texts), bound.stamp.fill(mark), 1)
      const pod = kubelet.plainOf(place.resource, live) as Pod
      const { initContainers = [], containers: others } = pod.spec
      containers = [...initContainers, ...others].map(({ name }) => name)
      const ids = containers.map(name => containerId(pod.metadata.uid, name))
      return { texts: [...mark.texts.slice(0, idsAt), ...ids], numbers: mark.numbers, live, pod }
    })
    const [first, second] = proofs
    if (first === undefined || second === undefined) return undefined
    const proven = await this.#trials.prove(
      message,
      [first, second],
      ({ texts, numbers, live, pod }) => {
        const nowMs = at(numbers, startedAt)
        const [podAddress = '', nodeAddress = ''] = texts.slice(podAddressAt)
        const now = textFromMilliseconds(nowMs)
        const status = runningStatus(pod, { now, podAddress, nodeAddress })
        const values = { uid: '', suffixes: [], nowMs }
        const to = { ...place, name: pod.metadata.name }
        const write = (api: ApiCluster): Promise<unknown> => api.patch(to, { status }, 'status')
        return this.#trials.run(kubelet, { values, live }, write)
      },
    )
    return proven && { ...this.#current(kubelet, proven), containers }
  }

  #current(
    cluster: ApiCluster,
    {
      looks,
      ...proven
    }: Pick<ProvenStamp, 'stamp' | 'key'> & {
      readonly looks: Parameters<Trials['isCurrent']>[1]
    },
  ): ProvenStamp {
    const { registry } = cluster
    const isCurrent = (): boolean =>
      cluster.registry === registry && this.#trials.isCurrent(cluster, looks)
    return { ...proven, isCurrent }
  }
}

/** The key of the trial with other values. */
function keyBy({ key, marks }: Pick<Made, 'key' | 'marks'>, texts: readonly string[]): Key {
  let text: string = key
  for (let i = suffixAt; i < nodeAt; i++) {
    const mark = marks[0].texts[i] ?? ''
    if (text.endsWith(mark)) text = text.slice(0, -mark.length) + (texts[i] ?? '')
  }
  return text as Key
}

async function commit(
  cluster: ApiCluster,
  change: { readonly key: Key; readonly expected: number },
  value: Uint8Array,
): Promise<KeyValue | undefined> {
  const { store } = cluster.services
  const committed = await store.commit({ ...change, value, ttlSeconds: 0 }, cluster.signal)
  return committed.type === 'done' ? entryOf(change.key, value, committed.revision) : undefined
}

interface Values {
  readonly texts: readonly (readonly [index: number, text: string])[]
  readonly numbers: readonly (readonly [index: number, number: number])[]
}

function filled(found: Variables, values: Values): Variables {
  const [texts, numbers] = [[...found.texts], [...found.numbers]]
  for (const [index, text] of values.texts) texts[index] = text
  for (const [index, number] of values.numbers) numbers[index] = number
  return { texts, numbers }
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1_000)
}

function at(numbers: readonly number[], index: number): number {
  return (numbers[index] ?? 0) * 1_000
}

/** Two times the values for all that differs between pods. Of the second ones the times are equal,
 *  as those of real pods may be, and the texts have other lengths where they may. */
function drawMarks(random: Random): readonly [Variables, Variables] {
  const digit = (): string => 'bcdf2456789'[randomInt(random, 0, 10)] ?? 'b'
  const drawn = (length: number): string => Array.from({ length }, digit).join('')
  const byte = (): number => randomInt(random, 100, 199)
  const uid = (): string => `${drawn(8)}-${drawn(4)}-4${drawn(3)}-8${drawn(3)}-${drawn(12)}`
  const suffixes = (): string[] => Array.from({ length: suffixesMax }, () => drawn(5))
  const address = (): string => `100.${String(byte())}.${String(byte())}.${String(byte())}`
  const first = randomInt(random, 2_000_000_000, 2_100_000_000)
  const one = first + 100_000_000
  return [
    {
      texts: [uid(), ...suffixes(), `n${drawn(12)}`, address(), address()],
      numbers: [first, first + 7, first + 19],
    },
    {
      texts: [
        uid(),
        ...suffixes(),
        `n${drawn(20)}`,
        `11.12.${String(byte())}.13`,
        `10.9.8.${String(byte())}`,
      ],
      numbers: [one, one, one],
    },
  ]
}
