/** The defaults that are computed: each function is named by rows of more-defaults.json
 *  (`compute`). Trees are changed by it, and a check of a stored message asks whether it would
 *  change the parts that the row says it reads (view/would-change.ts). */

import {
  objectIn,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  itemsOf,
  memberOf,
  quantityNanos,
  sumOfQuantities,
} from '@watchglass/go'
import { giveUp } from '@watchglass/base'
import { ownAnnotations } from '../convert/autoscalers.ts'
import { isLatestImage } from './image-reference.ts'

/** The value of a field, made of that of a sibling. */
export const valueComputations: Readonly<
  Record<string, (sibling: JsonValue | undefined) => JsonValue>
> = {
  pullPolicy: image =>
    isLatestImage(typeof image === 'string' ? image : '') ? 'Always' : 'IfNotPresent',
}

/** Changes a message in place. `isStored` says that it comes out of etcd, and not in a request. */
export type MessageComputation = (message: JsonObject, isStored: boolean) => void

export const messageComputations: Readonly<Record<string, MessageComputation>> = {
  bytesOfTexts,
  definitionNames,
  dropAutoscalerAnnotations: object => dropAnnotations(object, ownAnnotations),
  dropInitAnnotations: object => dropAnnotations(object, initAnnotations),
  hostPorts,
  nameLabel,
  podRequests,
  templateGeneration,
}

export function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

function objectsIn(object: JsonObject, name: string): readonly JsonObject[] {
  return itemsOf(object.get(name)).filter(item => item instanceof Map)
}

/** The annotations in which Kubernetes 1.5 kept init containers. */
const initAnnotations = ['alpha', 'beta'].flatMap(stage =>
  ['containers', 'container-statuses'].map(what => `pod.${stage}.kubernetes.io/init-${what}`),
)

function dropAnnotations(object: JsonObject, names: readonly string[]): void {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  if (annotations instanceof Map) for (const name of names) annotations.delete(name)
}

/** The names of a definition that follow from its kind, and its storage version as a stored one. */
export function definitionNames(definition: JsonObject): void {
  const spec = definition.get('spec')
  const names = memberOf(spec, 'names')
  const kind = memberOf(names, 'kind')
  if (names instanceof Map && isText(kind)) {
    if (!isText(names.get('singular'))) names.set('singular', kind.toLowerCase())
    if (!isText(names.get('listKind'))) names.set('listKind', `${kind}List`)
  }
  if (itemsOf(memberOf(definition.get('status'), 'storedVersions')).length > 0) return
  const storage = itemsOf(memberOf(spec, 'versions')).find(
    version => memberOf(version, 'storage') === true,
  )
  const name = memberOf(storage, 'name')
  if (isText(name)) objectIn(definition, 'status').set('storedVersions', [name])
}

/** Opens the ports of a pod on the host's network there (SetDefaults_Pod). Templates had this
 *  behind a feature gate that has been off since 1.28. */
function hostPorts(spec: JsonObject): void {
  for (const port of containersOf(spec).flatMap(container => objectsIn(container, 'ports'))) {
    const own = port.get('hostPort')
    const isOpen = own instanceof JsonNumber && own.text !== '0'
    const wanted = port.get('containerPort')
    if (!isOpen && wanted instanceof JsonNumber && wanted.text !== '0') port.set('hostPort', wanted)
  }
}

function containersOf(spec: JsonObject): readonly JsonObject[] {
  return [...objectsIn(spec, 'containers'), ...objectsIn(spec, 'initContainers')]
}

/** The bytes of texts that nobody has put into `data` yet. */
function bytesOfTexts(secret: JsonObject): void {
  const texts = secret.get('stringData')
  if (!(texts instanceof Map)) return
  for (const [name, text] of texts) {
    const value = typeof text === 'string' ? text : giveUp('a text of a secret is none')
    objectIn(secret, 'data').set(name, Buffer.from(value).toString('base64'))
  }
  secret.delete('stringData')
}

function nameLabel(namespace: JsonObject): void {
  const metadata = objectIn(namespace, 'metadata')
  const name = metadata.get('name')
  if (isText(name)) objectIn(metadata, 'labels').set('kubernetes.io/metadata.name', name)
}

/** The annotation that counts templates: Go keeps it as a number. */
function templateGeneration(daemonSet: JsonObject, isStored: boolean): void {
  const annotations = objectIn(objectIn(daemonSet, 'metadata'), 'annotations')
  const name = 'deprecated.daemonset.template.generation'
  const known = annotations.get(name)
  if (known === undefined) annotations.set(name, '0')
  else if (isStored && !(typeof known === 'string' && /^(?:0|[1-9]\d{0,17})$/.test(known))) {
    giveUp('the generation of a template is not a plain number')
  }
}

/** Requests and huge pages of a pod as a whole, where it has limits or requests of its own
 *  (KEP-2837): from what its containers ask for, or else from its limits. A server that reads the
 *  pod does not take the requests of containers, so then it is not exact. */
function podRequests(spec: JsonObject, isStored: boolean): void {
  const whole = spec.get('resources')
  if (!(whole instanceof Map)) return
  if (amountsIn(whole, 'limits').size === 0 && amountsIn(whole, 'requests').size === 0) return
  addHugePages(spec, whole)
  const limits = amountsIn(whole, 'limits')
  if (limits.size === 0) return
  const isAsked = (name: string): boolean => amountsIn(whole, 'requests').has(name)
  for (const [name, amount] of amountsOfContainers(spec, 'requests')) {
    if (!isOfWholePod(name) || isHugePages(name) || isAsked(name)) continue
    if (isStored) giveUp('requests of a pod are those of its containers')
    objectIn(whole, 'requests').set(name, amount)
  }
  for (const [name, amount] of limits) {
    if (isOfWholePod(name) && !isAsked(name)) objectIn(whole, 'requests').set(name, amount)
  }
}

/** Limits the huge pages of the pod to those of its containers, unless it says how many it asks
 *  for. */
function addHugePages(spec: JsonObject, whole: JsonObject): void {
  const [limits, requests] = [whole.get('limits'), whole.get('requests')]
  for (const [name, amount] of amountsOfContainers(spec, 'limits')) {
    const isSaid = [limits, requests].some(amounts => memberOf(amounts, name) !== undefined)
    if (isHugePages(name) && !isSaid) objectIn(whole, 'limits').set(name, amount)
  }
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** The resources that a pod as a whole may have. */
function isOfWholePod(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name)
}

type Amounts = ReadonlyMap<string, string>

/** All that the containers of a pod ask for, or may have, at any time (AggregateContainerRequests
 *  and -Limits in component-helpers): those that run together, or an init container with the
 *  sidecars before it, whichever is more. */
function amountsOfContainers(spec: JsonObject, list: 'requests' | 'limits'): Amounts {
  let together: Amounts = new Map()
  let sidecars: Amounts = new Map()
  let starting: Amounts = new Map()
  for (const container of objectsIn(spec, 'containers')) {
    together = sumOf(together, amountsOf(container, list))
  }
  for (const container of objectsIn(spec, 'initContainers')) {
    const own = amountsOf(container, list)
    const isSidecar = container.get('restartPolicy') === 'Always'
    if (isSidecar) {
      together = sumOf(together, own)
      sidecars = sumOf(sidecars, own)
    }
    starting = mostOf(starting, isSidecar ? sidecars : sumOf(own, sidecars))
  }
  return mostOf(together, starting)
}

/** The amounts of one container, which asks for its limits where it says nothing else: rows give it
 *  its own requests only after those of the pod. */
function amountsOf(container: JsonObject, list: 'requests' | 'limits'): Amounts {
  const resources = container.get('resources')
  const amounts = amountsIn(resources, list)
  return list === 'limits' ? amounts : new Map([...amountsIn(resources, 'limits'), ...amounts])
}

function amountsIn(resources: JsonValue | undefined, list: string): Amounts {
  const amounts = memberOf(resources, list)
  return amounts instanceof Map ? (amounts as Map<string, string>) : new Map()
}

function sumOf(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a)
  for (const [name, amount] of b) {
    const known = sum.get(name)
    sum.set(name, known === undefined ? amount : sumOfQuantities([known, amount]))
  }
  return sum
}

function mostOf(a: Amounts, b: Amounts): Amounts {
  const most = new Map(a)
  for (const [name, amount] of b) {
    const known = most.get(name)
    if (known === undefined || quantityNanos(amount) > quantityNanos(known)) most.set(name, amount)
  }
  return most
}
