/** StatefulSets: of their spec only some fields may change. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { dnsLabel } from '../../validation/formats.ts'
import { checkChangedMeta, isSame } from '../../validation/object-meta.ts'
import { Place } from '../../validation/place.ts'
import { checkClaimSpec } from '../../validation/pods/claims.ts'
import { checkTemplate, checkTemplateMeta } from '../../validation/pods/pod-spec.ts'
import { ofClaimSpec } from '../../warnings/claims.ts'
import { ofTemplate } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { amountOf, checkAtMostAll, checkPercent } from '../shared/percents.ts'
import { checkCounts } from '../shared/workload-status.ts'
import { checkMatch, checkRestarts, checkSelector, strategyValue } from '../shared/workloads.ts'

export const statefulSet: BuiltInKind = kind({
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  hasStatus: true,
  complete: nameClaims,
  counted: ['spec'],
  // MaxUnavailableStatefulSet
  gated: [['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable']],
  podSpec: ['spec', 'template', 'spec'],
  nameFormat: dnsLabel,
  hasFreeStatusMetadata: true,
  validateCreate: object => checkStatefulSet(object, { isNew: true, isTemplateChecked: true }),
  validateUpdate: checkStatefulSetUpdate,
  warn: ofStatefulSet,
  subresources: {
    status: {
      validate: (object, old) => {
        checkCounts('stateful')(object, old)
        checkChangedMeta(object, old)
      },
    },
  },
})

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

function ofStatefulSet(object: Place, old: Place | undefined): string[] {
  const claims = object.in('spec', 'volumeClaimTemplates')
  return [
    ...ofTemplate(object, old, 'spec'),
    ...claims.items.flatMap(claim => {
      const path = old === undefined ? claim.path : `${claim.path}.Spec`
      return ofClaimSpec(claim.in('spec').as(path))
    }),
    ...(object.in('spec', 'revisionHistoryLimit').number < 0
      ? [
          'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
        ]
      : []),
  ]
}

/** Go fills in the kind of the templates of claims. */
function nameClaims(object: JsonObject): void {
  for (const claim of itemsOf(memberOf(object.get('spec'), 'volumeClaimTemplates'))) {
    if (!(claim instanceof Map)) continue
    claim.set('kind', 'PersistentVolumeClaim')
    claim.set('apiVersion', 'v1')
  }
}
