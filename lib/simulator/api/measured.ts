/** Answers reads of `metrics.k8s.io` as a metrics server does, of nodes and pods that are made up.
 *  Nothing is kept: each answer reads the pods that it is about, in slices. */

import { contentType, encodedJson, negotiate } from '@watchglass/codec'
import { keyAfter, keyFromText, NotExact, prefixRange } from '@watchglass/base'
import { textFromMilliseconds, textInOrder } from '@watchglass/go'
import {
  badRequest,
  type FieldSelector,
  type LabelSelector,
  needsUpstream,
  notAcceptable,
  notExactly,
  objectNotFound,
  parseFieldSelector,
  parseLabelSelector,
  type Resource,
  type ResourceRoute,
} from '@watchglass/kube'
import type { RequestContext } from '@watchglass/cache'
import { type WriteServices, WriteSession } from '@watchglass/writes'
import {
  annotated,
  isMeasurable,
  plus,
  textsOf,
  type Usage,
  type UsageOf,
  usageOfContainer,
  usageOfPod,
  usageOfSystem,
  type UsingPod,
  windowMs,
} from '../usage/usage.ts'

/** Entries of one read. */
const pageEntries = 500

interface Measuring {
  readonly context: RequestContext
  readonly services: WriteServices
  readonly usageOf: UsageOf
  readonly nowMs: number
}

interface Measured {
  readonly metadata: UsingPod['metadata']
}

export interface MeasuredOptions {
  readonly services: WriteServices
  readonly usageOf?: UsageOf | undefined
}

export async function answerMeasured(
  context: RequestContext,
  route: ResourceRoute,
  { services, usageOf = usageOfContainer }: MeasuredOptions,
): Promise<undefined> {
  const { reply, target } = context
  const { resource, namespace, name, verb } = route
  const mediaType = negotiate(reply.preference, reply.offer)
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
  context.facts = { ...context.facts, source: 'etcd' }
  const nowMs = Math.floor(services.clock.wallMs() / windowMs) * windowMs
  const measuring = { context, services, usageOf, nowMs }
  const labels = parseLabelSelector(
    target.query.text('labelSelector'),
    context.state.registry.schema,
  )
  const fields = parseFieldSelector(target.query.text('fieldSelector'))
  const found = resource.isNamespaced
    ? await measuredPods(measuring, { namespace, name })
    : await measuredNodes(measuring, name)
  const apiVersion = `${resource.group}/${resource.version}`
  const one = found[0]
  if (verb === 'get' && one === undefined) throw objectNotFound(resource, name)
  const { kind, listKind } = resource
  const items = found.filter(item => isChosen(item, labels, fields))
  const body =
    verb === 'get'
      ? { kind, apiVersion, ...one }
      : { kind: listKind, apiVersion, metadata: {}, items }
  const bytes = encodedJson(Buffer.from(`${JSON.stringify(body)}\n`), mediaType)
  if (bytes instanceof NotExact) throw notExactly(resource, bytes)
  await reply.body(reply.response(200, contentType(mediaType.encoding)), bytes)
  return undefined
}

function isChosen({ metadata }: Measured, labels: LabelSelector, fields: FieldSelector): boolean {
  const known: Readonly<Record<string, string>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace ?? '',
  }
  return (
    labels.matches(key => metadata.labels?.[key]) &&
    fields.requirements.every(({ label, value, isEqual }) => {
      const text = known[label]
      if (text === undefined) throw badRequest(`"${label}" is not a known field selector`)
      return (text === value) === isEqual
    })
  )
}

async function measuredPods(
  measuring: Measuring,
  { namespace, name }: Pick<ResourceRoute, 'namespace' | 'name'>,
): Promise<Measured[]> {
  const found: Measured[] = []
  await visit<UsingPod>(measuring, { resource: 'pods', namespace, name }, pod => {
    if (!isMeasurable(pod)) return
    const containers = pod.spec.containers.map(container => ({
      name: container.name,
      usage: textsOf(measuring.usageOf(pod, container, measuring.nowMs)),
    }))
    found.push({ ...headOf(pod, measuring.nowMs), containers } as Measured)
  })
  return found
}

/** A node uses what its pods use, and something of its own. */
async function measuredNodes(measuring: Measuring, name: string): Promise<Measured[]> {
  const { nowMs, usageOf } = measuring
  const nodes: Measured[] = []
  await visit<Measured>(measuring, { resource: 'nodes', namespace: '', name }, node =>
    nodes.push(node),
  )
  const usages = new Map<string, Usage>(nodes.map(node => [node.metadata.name, usageOfSystem]))
  if (nodes.length > 0) {
    await visit<UsingPod>(measuring, { resource: 'pods', namespace: '', name: '' }, pod => {
      const node = pod.spec.nodeName ?? ''
      const known = usages.get(node)
      if (known === undefined || !isMeasurable(pod)) return
      usages.set(node, plus(known, usageOfPod(pod, nowMs, usageOf)))
    })
  }
  return nodes.map(node => {
    const { annotations } = node.metadata
    const { cpu, memory } = usages.get(node.metadata.name) ?? usageOfSystem
    const usage = {
      cpu: annotated(annotations, 'cpu') ?? cpu,
      memory: annotated(annotations, 'memory') ?? memory,
    }
    return { ...headOf(node, nowMs), usage: textsOf(usage) }
  })
}

function headOf(
  { metadata }: Measured,
  nowMs: number,
): Measured & { timestamp: string; window: string } {
  const { name, namespace, labels } = metadata
  const timestamp = textFromMilliseconds(nowMs)
  const shown = { name, namespace, creationTimestamp: timestamp, labels } as unknown
  return { metadata: shown as UsingPod['metadata'], timestamp, window: `${windowMs / 1000}s` }
}

/** Looks at one object, or at all of a namespace, or of the cluster. */
async function visit<T>(
  { context, services }: Measuring,
  { resource: plural, namespace, name }: { resource: string; namespace: string; name: string },
  look: (object: T) => void,
): Promise<void> {
  const { state, signal } = context
  const resource: Resource | undefined = state.registry.find('', 'v1', plural)
  if (resource?.storage === undefined) throw needsUpstream({ group: '', resource: plural }, 'list')
  const session = new WriteSession(
    { state, resource, namespace, name, subresource: '', userAgent: '', user: nobody, signal },
    services,
  )
  if (name !== '') {
    const entry = await services.store.get(session.keyOf(name), signal)
    if (entry !== undefined) look(JSON.parse(textInOrder(session.treeOf(entry))) as T)
    return
  }
  const place = namespace === '' ? '' : `${namespace}/`
  const whole = prefixRange(keyFromText(`${resource.storage.prefix}${place}`))
  let range = whole
  for (;;) {
    const page = await services.store.list(range, { limit: pageEntries }, signal)
    for (const entry of page.entries) {
      look(JSON.parse(textInOrder(session.treeOf(entry))) as T)
      await session.slice.giveWay()
    }
    const last = page.entries.at(-1)
    if (!page.more || last === undefined) return
    range = { ...whole, start: keyAfter(last.key) }
  }
}

const nobody = { user: '', uid: '', groups: [], extra: {} }
