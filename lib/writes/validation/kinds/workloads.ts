/** Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers and
 *  ControllerRevisions. */

import { JsonNumber, type JsonValue } from '@watchglass/go'
import { dnsLabel, dnsSubdomainInBytes, percent } from '../formats.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkChangedMeta, checkImmutable, checkNewMeta, isSame } from '../object-meta.ts'
import { NamedText } from '../../field-errors.ts'
import { asWritten, isSameRaw } from '../../raw-json.ts'
import { Place } from '../place.ts'
import { checkClaimSpec } from '../pods/claims.ts'
import { checkTemplate, checkTemplateMeta } from '../pods/pod-spec.ts'
import { checkLabelSelector, isEmptySelector, selects } from '../selectors.ts'
import { checkCounts } from './workload-status.ts'

export const workloadRules: Readonly<Record<string, KindRules>> = {
  'Deployment.apps': {
    create: checkDeployment,
    update: (object, old) => {
      checkDeployment(object)
      checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
    },
    subresources: { status: checkCounts('deployment') },
  },
  'ReplicaSet.apps': {
    create: checkReplicaSet,
    update: (object, old) => {
      checkReplicaSet(object)
      checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
    },
    subresources: { status: checkCounts('replicas') },
  },
  ReplicationController: {
    name: dnsSubdomainInBytes,
    hasFreePrefix: true,
    create: checkReplicationController,
    update: (object, old) => {
      checkReplicationController(object)
      checkUnconverted(object, old)
    },
    subresources: { status: checkCounts('replicas') },
  },
  'StatefulSet.apps': {
    name: dnsLabel,
    create: object => checkStatefulSet(object, { isNew: true, isTemplateChecked: true }),
    update: checkStatefulSetUpdate,
    hasFreeStatusMetadata: true,
    subresources: {
      status: (object, old) => {
        checkCounts('stateful')(object, old)
        checkChangedMeta(object, old)
      },
    },
  },
  'DaemonSet.apps': {
    create: checkDaemonSet,
    update: (object, old) => {
      checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
      checkDaemonSet(object)
    },
    subresources: { status: checkCounts('daemon') },
  },
  'ControllerRevision.apps': {
    create: object => {
      object.in('revision').notNegative()
      const data = object.in('data')
      if (!data.isSet) data.required('data is mandatory')
      else if (data.object === undefined) data.required('data must be a valid JSON object')
    },
    update: (object, old) => {
      checkNewMeta(object)
      object.in('revision').notNegative()
      const data = object.in('data')
      if (!isSameRaw(data.value, old.in('data').value)) {
        data.invalid('field is immutable', asWritten(data.value ?? null))
      }
    },
  },
}

function checkDeployment(object: Place): void {
  const spec = object.in('spec')
  spec.in('replicas').notNegative()
  if (checkSelector(spec, 'deployment')) checkSelectedTemplate(spec, 'ReplicaSet')
  checkDeploymentStrategy(spec.in('strategy'))
  const [ready, history, deadline] = [
    spec.in('minReadySeconds'),
    spec.in('revisionHistoryLimit'),
    spec.in('progressDeadlineSeconds'),
  ]
  ready.notNegative()
  history.notNegative()
  const rollback = object.in('metadata', 'annotations', 'deprecated.deployment.rollback.to').text
  if (rollback.startsWith('-')) {
    spec
      .as('spec.rollback.version', new JsonNumber(rollback))
      .invalid('must be greater than or equal to 0')
  }
  if (!deadline.isSet) return
  deadline.notNegative()
  if (deadline.number <= ready.number) deadline.invalid('must be greater than minReadySeconds')
}

function checkReplicaSet(object: Place): void {
  const spec = object.in('spec')
  spec.in('replicas').notNegative()
  spec.in('minReadySeconds').notNegative()
  if (checkSelector(spec, 'deployment')) checkSelectedTemplate(spec, 'ReplicaSet')
}

function checkReplicationController(object: Place): void {
  const spec = object.in('spec')
  spec.in('minReadySeconds').notNegative()
  const [selector, replicas] = [spec.in('selector'), spec.in('replicas')]
  if (selector.size === 0) selector.required()
  if (replicas.isSet) replicas.notNegative()
  else replicas.required()
  const template = spec.in('template')
  if (!template.isSet) {
    template.required()
    return
  }
  const selectorObject = new Map([['matchLabels', selector.value ?? new Map()]])
  checkMatch(template, selector.as(selector.path, selectorObject))
  checkAlwaysRunning(template, 'ReplicationController')
}

/** Checks fields of another version of the object that this one could not take, and keeps as
 *  annotations. */
function checkUnconverted(object: Place, old: Place): void {
  for (const [key, value] of old.in('metadata', 'annotations').entries) {
    const [prefix = '', field, ...more] = key.split('/')
    const isOne = prefix.startsWith('non-convertible.kubernetes.io') && more.length === 0
    if (field === undefined || !isOne) continue
    const selector = object.in('spec', 'selector')
    if (!field.includes('selector')) {
      object.as(field).notFound(value.text, 'unknown non-convertible field')
    } else if (!isSame(selector.value, old.in('spec', 'selector').value)) {
      selector.invalid('cannot update non-convertible selector')
    }
  }
}

/** The selector of a workload; false if it is none, so that nothing can be selected by it. */
function checkSelector(spec: Place, kind: string): boolean {
  const selector = spec.in('selector')
  if (!selector.isSet) {
    selector.required()
    return true
  }
  const before = selector.errors.length
  checkLabelSelector(selector)
  const isBroken = selector.errors.length > before
  if (isEmptySelector(selector)) selector.invalid(`empty selector is invalid for ${kind}`)
  if (isBroken) selector.invalid(kind === 'statefulset' ? '' : 'invalid label selector')
  return !isBroken
}

function checkSelectedTemplate(spec: Place, kind: string): void {
  const template = spec.in('template')
  checkMatch(template, spec.in('selector'))
  checkAlwaysRunning(template, kind)
}

/** A selector that is absent selects nothing, an empty one everything. */
function checkMatch(template: Place, selector: Place): void {
  const labels = template.in('metadata', 'labels')
  const isMet = selector.isSet && selects(selector, labels.object ?? new Map())
  if (!isMet) {
    labels.invalid('`selector` does not match template `labels`', labels.shown)
  }
}

function checkAlwaysRunning(template: Place, kind: string): void {
  checkTemplate(template)
  checkRestarts(template, kind)
}

function checkRestarts(template: Place, kind: string): void {
  const [policy, deadline] = [
    template.in('spec', 'restartPolicy'),
    template.in('spec', 'activeDeadlineSeconds'),
  ]
  if (policy.text !== 'Always') policy.notSupported(['Always'], policy.text)
  if (deadline.isSet) {
    deadline.forbidden(`activeDeadlineSeconds in ${kind} is not Supported`)
  }
}

function checkDeploymentStrategy(strategy: Place): void {
  const rolling = strategy.in('rollingUpdate')
  switch (strategy.in('type').text) {
    case 'Recreate':
      if (rolling.isSet) {
        rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
      }
      break
    case 'RollingUpdate': {
      if (!rolling.isSet) {
        rolling.required('this should be defaulted and never be nil')
        break
      }
      const [unavailable, surge] = [rolling.in('maxUnavailable'), rolling.in('maxSurge')]
      checkPercent(unavailable)
      checkPercent(surge)
      if (amountOf(unavailable) === 0 && amountOf(surge) === 0) {
        unavailable.invalid('may not be 0 when `maxSurge` is 0', unavailable.value ?? zero)
      }
      checkAtMostAll(unavailable)
      break
    }
    default:
      strategy.notSupported(['Recreate', 'RollingUpdate'], strategyValue(strategy))
  }
}

const zero = new JsonNumber('0')

/** The server's own types of strategies, as errors show them. */
function strategyValue(strategy: Place): JsonValue {
  const rolling = strategy.in('rollingUpdate')
  const isOfSet = rolling.in('partition').isSet
  const names = isOfSet ? ['partition', 'maxUnavailable'] : ['maxUnavailable', 'maxSurge']
  const members = names.map((name): [string, JsonValue] => [
    name.replace(/^./, first => first.toUpperCase()),
    rolling.in(name).value ?? null,
  ])
  return new Map<string, JsonValue>([
    ['Type', strategy.in('type').text],
    ['RollingUpdate', rolling.isSet ? new Map(members) : null],
  ])
}

/** A number that is not negative, or a percentage. */
export function checkPercent(place: Place): void {
  if (typeof place.value === 'string') {
    place.invalidFor(percent(place.text), new NamedText(place.text))
  } else place.notNegative()
}

export function checkAtMostAll(place: Place): void {
  if (typeof place.value !== 'string' || percent(place.text).length > 0) return
  if (amountOf(place) > 100) place.invalid('must not be greater than 100%')
}

function amountOf(place: Place): number {
  if (typeof place.value !== 'string') return place.number
  const digits = /^([-+]?\d+)%?$/.exec(place.text)?.[1]
  return digits === undefined ? 0 : Number(digits)
}

interface StatefulOptions {
  readonly isNew: boolean
  readonly isTemplateChecked: boolean
}

function checkStatefulSet(object: Place, { isNew, isTemplateChecked }: StatefulOptions): void {
  const spec = object.in('spec')
  const management = spec.in('podManagementPolicy')
  if (management.text === '') management.required()
  else if (!['OrderedReady', 'Parallel'].includes(management.text)) {
    management.invalid("must be 'OrderedReady' or 'Parallel'")
  }
  checkStatefulStrategy(spec.in('updateStrategy'))
  const retention = spec.in('persistentVolumeClaimRetentionPolicy')
  if (retention.isSet) {
    for (const name of ['whenDeleted', 'whenScaled']) {
      retention.in(name).oneOf(['Retain', 'Delete'], 'unsupported')
    }
  }
  if (isNew) {
    for (const claim of spec.in('volumeClaimTemplates').items) checkClaimSpec(claim.in('spec'))
  }
  spec.in('replicas').notNegative()
  spec.in('minReadySeconds').notNegative()
  spec.in('ordinals', 'start').notNegative()
  const service = spec.in('serviceName')
  if (isNew && service.text !== '') service.mustBe(dnsLabel)
  if (checkSelector(spec, 'statefulset')) checkStatefulTemplate(spec, isTemplateChecked)
  checkRestarts(spec.in('template'), 'StatefulSet')
}

function checkStatefulStrategy(strategy: Place): void {
  const [type, rolling] = [strategy.in('type').text, strategy.in('rollingUpdate')]
  if (type === '') strategy.required()
  else if (type === 'OnDelete') {
    if (rolling.isSet) {
      const members = strategyValue(strategy) as Map<string, JsonValue>
      rolling.invalid(
        "only allowed for updateStrategy 'RollingUpdate'",
        members.get('RollingUpdate') ?? null,
      )
    }
  } else if (type === 'RollingUpdate') {
    rolling.in('partition').notNegative()
    const unavailable = rolling.in('maxUnavailable')
    if (!unavailable.isSet) return
    checkPercent(unavailable)
    if (amountOf(unavailable) === 0) unavailable.invalid('cannot be 0')
    checkAtMostAll(unavailable)
  } else {
    strategy.invalid("must be 'RollingUpdate' or 'OnDelete'", strategyValue(strategy))
  }
}

/** The template is checked with the volumes that the claims give, and without what names its
 *  pods. */
function checkStatefulTemplate(spec: Place, isTemplateChecked: boolean): void {
  const template = spec.in('template')
  checkMatch(template, spec.in('selector'))
  if (!isTemplateChecked) return
  const claims = spec
    .in('volumeClaimTemplates')
    .items.map(claim => claim.in('metadata', 'name').text)
  const names = new Set(claims)
  const given = [...names].map(name => {
    const source = new Map<string, JsonValue>([['claimName', name]])
    return new Map<string, JsonValue>([
      ['name', name],
      ['persistentVolumeClaim', source],
    ])
  })
  const others = template
    .in('spec', 'volumes')
    .items.filter(volume => !names.has(volume.in('name').text))
  const podSpec = new Map(template.in('spec').object)
  for (const name of ['hostname', 'subdomain']) podSpec.delete(name)
  podSpec.set('volumes', [...given, ...others.map(({ value }) => value ?? null)])
  const members = new Map([...(template.object ?? []), ['spec', podSpec] as const])
  checkTemplate(template.as(template.path, members))
  checkTemplateMeta(template)
}

const statefulFields = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
]

function checkStatefulSetUpdate(object: Place, old: Place): void {
  const before = new Place(old.value, '', [])
  checkStatefulSet(before, { isNew: false, isTemplateChecked: true })
  checkStatefulSet(object, { isNew: false, isTemplateChecked: before.errors.length === 0 })
  const rest = (place: Place): JsonValue => {
    const members = [...(place.object ?? [])].filter(([name]) => !statefulFields.includes(name))
    const claims = place.in('volumeClaimTemplates').items.map(bareClaim)
    return new Map([...members, ['volumeClaimTemplates', claims]])
  }
  if (isSame(rest(object.in('spec')), rest(old.in('spec')))) return
  object
    .in('spec')
    .forbidden(
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    )
}

/** The kind that a claim names is ignored. */
function bareClaim({ object }: Place): JsonValue {
  return new Map([...(object ?? [])].filter(([name]) => name !== 'kind' && name !== 'apiVersion'))
}

function checkDaemonSet(object: Place): void {
  const spec = object.in('spec')
  const [selector, template] = [spec.in('selector'), spec.in('template')]
  const before = selector.errors.length
  checkLabelSelector(selector)
  if (selector.errors.length === before) checkMatch(template, selector)
  if (selector.isSet && isEmptySelector(selector)) {
    selector.invalid('empty selector is invalid for daemonset')
  }
  checkAlwaysRunning(template, 'DaemonSet')
  spec.in('minReadySeconds').notNegative()
  checkDaemonStrategy(spec.in('updateStrategy'))
  spec.in('revisionHistoryLimit').notNegative()
}

function checkDaemonStrategy(strategy: Place): void {
  const [type, rolling] = [strategy.in('type').text, strategy.in('rollingUpdate')]
  if (type === 'OnDelete') return
  if (type !== 'RollingUpdate') {
    strategy.notSupported(['RollingUpdate', 'OnDelete'], strategyValue(strategy))
    return
  }
  if (!rolling.isSet) {
    rolling.required()
    return
  }
  const [unavailable, surge] = [rolling.in('maxUnavailable'), rolling.in('maxSurge')]
  for (const place of [unavailable, surge]) checkPercent(place)
  for (const place of [unavailable, surge]) checkAtMostAll(place)
  const [hasUnavailable, hasSurge] = [amountOf(unavailable) !== 0, amountOf(surge) !== 0]
  if (hasUnavailable && hasSurge) {
    surge.invalid('may not be set when maxUnavailable is non-zero')
  } else if (!hasUnavailable && !hasSurge) {
    unavailable.required('cannot be 0 when maxSurge is 0')
  }
}
