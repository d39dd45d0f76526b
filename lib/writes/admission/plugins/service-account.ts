/** ServiceAccount: a pod runs as an account of its namespace, and finds a token of it. */

import { sleep } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { plainError } from '@watchglass/kube'
import { metaText, textOf } from '../../metadata.ts'
import { pathSegment } from '../../validation/formats.ts'
import { annotationsOf, isSet, nameIn, partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

const accounts = ['', 'v1', 'serviceaccounts'] as const
const mirrorPod = 'kubernetes.io/config.mirror'
const enforcesSecrets = 'kubernetes.io/enforce-mountable-secrets'
const volumePrefix = 'kube-api-access-'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  mutate(attributes) {
    const { isPod, operation, object } = attributes
    if (!isPod || operation !== 'CREATE' || object === undefined) return undefined
    return completePod(attributes, object)
  },
  validate(attributes) {
    const { session, isPod, operation, object } = attributes
    if (object === undefined) return undefined
    if (isPod && operation === 'CREATE') return checkPod(attributes, object)
    const { kind, subresource } = session
    const isEphemeral = kind.resource === 'pods' && subresource === 'ephemeralcontainers'
    return kind.group === '' && isEphemeral && operation === 'UPDATE'
      ? checkEphemeral(attributes, object)
      : undefined
  },
}

async function completePod(attributes: AdmissionAttributes, pod: JsonObject): Promise<void> {
  const spec = pod.get('spec')
  if (!(spec instanceof Map) || annotationsOf(pod).has(mirrorPod)) return checkPod(attributes, pod)
  if (textOf(spec.get('serviceAccountName')) === '') {
    spec.set('serviceAccountName', 'default')
  }
  spec.set('serviceAccount', spec.get('serviceAccountName') ?? '')
  const account = await accountOf(attributes, pod)
  const mounts = [
    spec.get('automountServiceAccountToken'),
    account.get('automountServiceAccountToken'),
  ].find(isSet)
  if (mounts !== false) mountToken(attributes, spec)
  if (partsOf(spec, 'imagePullSecrets').length === 0) {
    const secrets = partsOf(account, 'imagePullSecrets')
    if (secrets.length > 0) {
      spec.set(
        'imagePullSecrets',
        secrets.map(one => new Map([['name', nameIn(one)]])),
      )
    }
  }
  checkSecrets(attributes, account, spec)
}

async function checkPod(attributes: AdmissionAttributes, pod: JsonObject): Promise<void> {
  const spec = partOf(pod, 'spec')
  if (annotationsOf(pod).has(mirrorPod)) {
    checkMirrorPod(attributes, spec)
    return
  }
  checkSecrets(attributes, await accountOf(attributes, pod), spec)
}

/** Attempts to find the account `default`, which is made by a controller soon after its namespace,
 *  and the time between two. */
const attemptsMax = 10
const attemptMs = 150

async function accountOf(attributes: AdmissionAttributes, pod: JsonObject): Promise<JsonObject> {
  const { objects, session } = attributes
  const { namespace, signal, services } = session
  const name = textOf(memberOf(pod.get('spec'), 'serviceAccountName'))
  if (name === '') {
    const reason = `no service account specified for pod ${namespace}/${metaText(pod, 'name')}`
    throw forbidden(attributes, reason)
  }
  const problems = pathSegment(name)
  if (problems.length > 0) {
    const reason = `invalid resource name ${JSON.stringify(name)}: [${problems.join(' ')}]`
    throw forbidden(attributes, `error looking up service account ${namespace}/${name}: ${reason}`)
  }
  for (let attempt = 1; ; attempt++) {
    const found = await objects.get(session, accounts, { namespace, name })
    if (found !== undefined) return found
    if (name !== 'default' || attempt === attemptsMax || signal.aborted) break
    await sleep(services.clock, attemptMs, signal)
  }
  throw forbidden(
    attributes,
    `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
  )
}

function mountToken({ session }: AdmissionAttributes, spec: JsonObject): void {
  const volumes = partsOf(spec, 'volumes')
  const known = volumes.map(nameIn).find(name => name.startsWith(volumePrefix))
  const name = known ?? `${volumePrefix}${session.services.nameSuffix()}`
  let isNeeded = false
  for (const list of ['initContainers', 'containers']) {
    for (const container of partsOf(spec, list)) {
      const mounts = partsOf(container, 'volumeMounts')
      if (mounts.some(mount => mount.get('mountPath') === mountPath)) continue
      const mount: JsonObject = new Map<string, JsonValue>([
        ['name', name],
        ['readOnly', true],
        ['mountPath', mountPath],
      ])
      container.set('volumeMounts', [...mounts, mount])
      isNeeded = true
    }
  }
  if (!isNeeded || known !== undefined) return
  const volume: JsonObject = new Map<string, JsonValue>([
    ['name', name],
    ['projected', tokenVolume()],
  ])
  spec.set('volumes', [...volumes, volume])
}

/** The token, the certificates of who signs the server's, and the name of the namespace. */
function tokenVolume(): JsonObject {
  const tree = (members: Readonly<Record<string, JsonValue>>): JsonObject =>
    new Map(Object.entries(members))
  const fieldRef = tree({ apiVersion: 'v1', fieldPath: 'metadata.namespace' })
  return tree({
    defaultMode: new JsonNumber('420'),
    sources: [
      tree({
        serviceAccountToken: tree({ path: 'token', expirationSeconds: new JsonNumber('3607') }),
      }),
      tree({
        configMap: tree({
          name: 'kube-root-ca.crt',
          items: [tree({ key: 'ca.crt', path: 'ca.crt' })],
        }),
      }),
      tree({ downwardAPI: tree({ items: [tree({ path: 'namespace', fieldRef })] }) }),
    ],
  })
}

function checkMirrorPod(attributes: AdmissionAttributes, spec: JsonObject): void {
  if (textOf(spec.get('serviceAccountName')) !== '') {
    throw forbidden(attributes, 'a mirror pod may not reference service accounts')
  }
  if (secretReferences(spec).length > 0 || partsOf(spec, 'imagePullSecrets').length > 0) {
    throw forbidden(attributes, 'a mirror pod may not reference secrets')
  }
  for (const volume of partsOf(spec, 'volumes')) {
    const sources = partsOf(volume.get('projected'), 'sources')
    if (sources.some(source => source.has('serviceAccountToken'))) {
      throw forbidden(attributes, 'a mirror pod may not use ServiceAccountToken volume projections')
    }
  }
}

interface SecretReference {
  readonly secret: string
  readonly words: string
}

const containerWords = [
  ['initContainers', 'init container'],
  ['containers', 'container'],
  ['ephemeralContainers', 'ephemeral container'],
] as const

function secretReferences(spec: JsonObject, lists = containerWords.slice(0, 2)): SecretReference[] {
  const found: SecretReference[] = []
  for (const volume of partsOf(spec, 'volumes')) {
    const source = volume.get('secret')
    if (!(source instanceof Map)) continue
    const secret = textOf(source.get('secretName'))
    found.push({ secret, words: `volume with secret.secretName="${secret}"` })
  }
  for (const [list, what] of lists) {
    for (const container of partsOf(spec, list)) {
      found.push(...referencesIn(container, `${what} ${nameIn(container)}`))
    }
  }
  return found
}

function referencesIn(container: JsonObject, who: string): SecretReference[] {
  const found: SecretReference[] = []
  for (const variable of partsOf(container, 'env')) {
    const source = partOf(variable, 'valueFrom').get('secretKeyRef')
    if (!(source instanceof Map)) continue
    const secret = nameIn(source)
    const words = `${who} with envVar ${nameIn(variable)} referencing secret.secretName="${secret}"`
    found.push({ secret, words })
  }
  for (const from of partsOf(container, 'envFrom')) {
    const source = from.get('secretRef')
    if (!(source instanceof Map)) continue
    const secret = nameIn(source)
    found.push({ secret, words: `${who} with envFrom referencing secret.secretName="${secret}"` })
  }
  return found
}

function isStrict(account: JsonObject): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(
    textOf(annotationsOf(account).get(enforcesSecrets)),
  )
}

/** An account may be one that lets pods use its own secrets only. */
function checkSecrets(
  attributes: AdmissionAttributes,
  account: JsonObject,
  spec: JsonObject,
): void {
  if (!isStrict(account)) return
  const name = metaText(account, 'name')
  const refused = refusedReference(account, secretReferences(spec))
  if (refused !== undefined) throw forbidden(attributes, refused)
  const allowed = new Set(partsOf(account, 'imagePullSecrets').map(nameIn))
  for (const [i, secret] of partsOf(spec, 'imagePullSecrets').entries()) {
    if (allowed.has(nameIn(secret))) continue
    throw forbidden(
      attributes,
      `imagePullSecrets[${i}].name="${nameIn(secret)}" is not allowed because service account ${name} does not reference that imagePullSecret`,
    )
  }
}

async function checkEphemeral(attributes: AdmissionAttributes, pod: JsonObject): Promise<void> {
  const account = await accountOf(attributes, pod)
  if (!isStrict(account)) return
  const ephemeral = new Map([...partOf(pod, 'spec')].filter(([name]) => name !== 'volumes'))
  const refused = refusedReference(account, secretReferences(ephemeral, containerWords.slice(2)))
  // A kube-apiserver does not say that it forbids this.
  if (refused !== undefined) throw plainError(refused)
}

/** The complaint about a secret that the account does not name; undefined if there is none. */
function refusedReference(
  account: JsonObject,
  references: readonly SecretReference[],
): string | undefined {
  const allowed = new Set(partsOf(account, 'secrets').map(nameIn))
  for (const { secret, words } of references) {
    if (allowed.has(secret)) continue
    return `${words} is not allowed because service account ${metaText(account, 'name')} does not reference that secret`
  }
  return undefined
}
