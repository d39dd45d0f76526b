/** Pods: pending from the beginning, with a quality of service that follows from their resources.
 *  Almost nothing of their spec may change, but for what `resize` and `ephemeralcontainers` are
 *  for. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import {
  copyMember,
  generationOf,
  isEqual,
  metadataOf,
  number,
  numberOf,
  setGeneration,
  textOf,
} from '../../metadata.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkImage } from '../../validation/pods/containers.ts'
import { checkEphemeralUpdate } from '../../validation/pods/ephemeral-containers.ts'
import {
  appArmorPrefix,
  checkAnnotationUpdates,
  checkPodAnnotations,
  checkProfilesMatch,
  mirrorAnnotation,
} from '../../validation/pods/pod-annotations.ts'
import { checkPodSpec } from '../../validation/pods/pod-spec.ts'
import { checkPodStatus } from '../../validation/pods/pod-status.ts'
import { checkPodUpdate } from '../../validation/pods/pod-updates.ts'
import { canBeResized, checkResize } from '../../validation/pods/resize.ts'
import { appArmorWarning, ofPod, ofPodStatus } from '../../warnings/pods.ts'
import { ofPodName } from '../../warnings/templates.ts'
import { type BuiltInKind, kind, type StrategyContext } from '../kind.ts'
import { dropGatedFieldsOfPodStatus } from '../shared/gated-fields.ts'
import { qualityOf } from '../shared/quality-of-service.ts'

export const pod: BuiltInKind = kind({
  group: '',
  kind: 'Pod',
  plural: 'pods',
  hasStatus: true,
  keepsStatus: true,
  returnsDeleted: true,
  counted: ['spec'],
  podSpec: ['spec'],
  prepareCreate: (object, context) => {
    object.set('status', initialStatus(object, context.now))
    matchLabelKeys(object)
    setAppArmor(object, context)
  },
  validateCreate: object => {
    checkPod(object)
    const [ephemeral, node] = [
      object.in('spec', 'ephemeralContainers'),
      object.in('spec', 'nodeName'),
    ]
    if (ephemeral.size > 0) ephemeral.forbidden('cannot be set on create')
    if (node.text !== '' && object.in('spec', 'schedulingGates').size > 0) {
      node.forbidden('cannot be set until all schedulingGates have been cleared')
    }
    checkProfilesMatch(object.in('metadata', 'annotations'), object.in('spec'))
  },
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    checkPod(object, old.in('spec'))
    checkPodUpdate(object, old)
  },
  // People change pods seldom, and programs often.
  warn: (object, old) =>
    old === undefined ? [...ofPodName(object, "the Pod's hostname"), ...ofPod(object, false)] : [],
  subresources: {
    status: {
      resets: ['spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'],
      prepare: (object, old) => {
        copyMember(metadataOf(object), metadataOf(old), 'ownerReferences')
        metadataOf(object).delete('deletionTimestamp')
        dropGatedFieldsOfPodStatus(object, old)
        keepStatus(object, old)
      },
      validate: (object, old) => {
        checkAnnotationUpdates(object, old)
        checkPodStatus(object, old)
      },
      warn: object => ofPodStatus(object.in('status')),
    },
    ephemeralcontainers: {
      prepare: (object, old) => {
        const wanted = memberOf(object.get('spec'), 'ephemeralContainers')
        keepAllBut(object, old, spec => {
          if (wanted === undefined) spec.delete('ephemeralContainers')
          else spec.set('ephemeralContainers', wanted)
        })
      },
      validate: (object, old) => {
        checkPod(object)
        checkAnnotationUpdates(object, old)
        checkEphemeralUpdate(object, old)
      },
    },
    resize: {
      prepare: (object, old) => {
        const wanted = object.get('spec')
        keepAllBut(object, old, spec => {
          for (const list of ['containers', 'initContainers']) {
            const resized = resizedContainers(memberOf(wanted, list), spec.get(list))
            if (resized === undefined) spec.delete(list)
            else spec.set(list, resized)
          }
          if (wanted instanceof Map) copyMember(spec, wanted, 'resources')
        })
      },
      validate: (object, old) => {
        if (!canBeResized(object, old)) return
        checkPod(object)
        checkResize(object, old)
      },
    },
  },
})

/** The status of a new pod. Its quality of service is taken where it names one. */
function initialStatus(object: JsonObject, now: string): JsonObject {
  const status: JsonObject = new Map()
  status.set('phase', 'Pending')
  const spec = object.get('spec')
  if (itemsOf(memberOf(spec, 'schedulingGates')).length > 0) {
    const gated: JsonObject = new Map<string, JsonValue>([
      ['type', 'PodScheduled'],
      ['status', 'False'],
      ['lastProbeTime', null],
      ['lastTransitionTime', now],
      ['reason', 'SchedulingGated'],
      ['message', 'Scheduling is blocked due to non-empty scheduling gates'],
    ])
    status.set('conditions', [gated])
  }
  const given = textOf(memberOf(object.get('status'), 'qosClass'))
  status.set('qosClass', given === '' ? qualityOf(spec) : given)
  return status
}

/** Profiles of AppArmor were annotations before they were fields: a container whose annotation says
 *  another one than the pod's field gets a field of its own. */
function setAppArmor(object: JsonObject, context: StrategyContext): void {
  const spec = object.get('spec')
  if (textOf(memberOf(memberOf(spec, 'os'), 'name')) === 'windows') return
  const annotations = memberOf(object.get('metadata'), 'annotations')
  const ofPod = memberOf(memberOf(spec, 'securityContext'), 'appArmorProfile') ?? null
  const containers = ['initContainers', 'containers'].flatMap(list => itemsOf(memberOf(spec, list)))
  for (const container of containers) {
    if (!(container instanceof Map)) continue
    const key = `${appArmorPrefix}${textOf(container.get('name'))}`
    const annotation = memberOf(annotations, key)
    const security = container.get('securityContext') ?? null
    if (annotation === undefined || memberOf(security, 'appArmorProfile') instanceof Map) continue
    const profile = profileOf(textOf(annotation))
    if (profile !== undefined && isEqual(profile, ofPod)) continue
    context.warn([appArmorWarning(`metadata.annotations[${key}]`)])
    if (profile === undefined) continue
    if (security instanceof Map) security.set('appArmorProfile', profile)
    else container.set('securityContext', new Map([['appArmorProfile', profile]]))
  }
}

/** The profile that an annotation names. */
function profileOf(annotation: string): JsonObject | undefined {
  const local = 'localhost/'
  if (annotation === 'unconfined') return new Map([['type', 'Unconfined']])
  if (annotation === 'runtime/default') return new Map([['type', 'RuntimeDefault']])
  const name = annotation.slice(local.length)
  if (!annotation.startsWith(local) || name.trim() !== name || name === '') return undefined
  return new Map([
    ['type', 'Localhost'],
    ['localhostProfile', name],
  ])
}

/** Terms of affinity that name label keys are about pods with the same values of these. */
function matchLabelKeys(object: JsonObject): void {
  const affinity = memberOf(object.get('spec'), 'affinity')
  const labels = memberOf(object.get('metadata'), 'labels')
  for (const side of ['podAffinity', 'podAntiAffinity']) {
    const terms = memberOf(affinity, side)
    const preferred = itemsOf(memberOf(terms, 'preferredDuringSchedulingIgnoredDuringExecution'))
    const all = [
      ...preferred.map(term => memberOf(term, 'podAffinityTerm')),
      ...itemsOf(memberOf(terms, 'requiredDuringSchedulingIgnoredDuringExecution')),
    ]
    for (const term of all) {
      addKeys(term, { labels, member: 'matchLabelKeys', operator: 'In' })
      addKeys(term, { labels, member: 'mismatchLabelKeys', operator: 'NotIn' })
    }
  }
  for (const constraint of itemsOf(memberOf(object.get('spec'), 'topologySpreadConstraints'))) {
    addKeys(constraint, { labels, member: 'matchLabelKeys', operator: 'In' })
  }
}

interface LabelKeys {
  readonly labels: JsonValue | undefined
  readonly member: string
  readonly operator: string
}

function addKeys(term: JsonValue | undefined, { labels, member, operator }: LabelKeys): void {
  const selector = memberOf(term, 'labelSelector')
  if (!(selector instanceof Map)) return
  for (const key of itemsOf(memberOf(term, member))) {
    const value = memberOf(labels, textOf(key))
    if (value === undefined) continue
    const known = selector.get('matchExpressions')
    const added: JsonObject = new Map<string, JsonValue>([
      ['key', key],
      ['operator', operator],
      ['values', [value]],
    ])
    selector.set('matchExpressions', [...(Array.isArray(known) ? known : []), added])
  }
}

/** Members that old kubelets do not send keep their values. */
function keepStatus(object: JsonObject, old: JsonObject): void {
  const status = object.get('status')
  const known = old.get('status')
  if (!(status instanceof Map)) return
  if (textOf(status.get('qosClass')) === '' && known instanceof Map) {
    copyMember(status, known, 'qosClass')
  }
  keepObserved(status, known)
  const generations = new Map<string, (JsonValue | undefined)[]>()
  for (const condition of itemsOf(memberOf(known, 'conditions'))) {
    const type = textOf(memberOf(condition, 'type'))
    generations.set(type, [
      ...(generations.get(type) ?? []),
      memberOf(condition, 'observedGeneration'),
    ])
  }
  for (const condition of itemsOf(status.get('conditions'))) {
    const before = generations.get(textOf(memberOf(condition, 'type')))?.shift()
    if (condition instanceof Map && before !== undefined) {
      keepObserved(condition, new Map([['observedGeneration', before]]))
    }
  }
}

function keepObserved(object: JsonObject, old: JsonValue | undefined): void {
  const before = numberOf(memberOf(old, 'observedGeneration')) ?? 0
  const isUnset = (numberOf(object.get('observedGeneration')) ?? 0) === 0
  if (isUnset && before !== 0) object.set('observedGeneration', number(before))
}

/** The old pod, with what `change` does to its spec. */
function keepAllBut(object: JsonObject, old: JsonObject, change: (spec: JsonObject) => void): void {
  const known = old.get('spec')
  const spec: JsonObject = known instanceof Map ? new Map(known) : new Map()
  change(spec)
  object.set('spec', spec)
  copyMember(object, old, 'status')
  const metadata = metadataOf(object)
  for (const name of [
    'deletionTimestamp',
    'labels',
    'annotations',
    'finalizers',
    'ownerReferences',
  ]) {
    copyMember(metadata, metadataOf(old), name)
  }
  if (!isEqual(spec, known)) setGeneration(object, generationOf(old) + 1)
}

/** The containers with their wanted resources. Those that were added, removed, renamed or moved are
 *  left as they are: validation refuses them. */
function resizedContainers(
  wanted: JsonValue | undefined,
  known: JsonValue | undefined,
): JsonValue | undefined {
  if (!Array.isArray(wanted) || !Array.isArray(known)) return wanted
  if (wanted.length !== known.length) return wanted
  const isSame = wanted.every((item, i) => memberOf(item, 'name') === memberOf(known[i], 'name'))
  if (!isSame) return wanted
  return known.map((container, i) => {
    const resized: JsonObject = new Map(container as JsonObject)
    const source = wanted[i] as JsonObject
    copyMember(resized, source, 'resources')
    copyMember(resized, source, 'resizePolicy')
    return resized
  })
}

function checkPod(object: Place, oldSpec?: Place): void {
  const [metadata, spec] = [object.in('metadata'), object.in('spec')]
  checkPodAnnotations(metadata.in('annotations'), spec)
  checkPodSpec(spec, {
    podName: metadata.in('name').text,
    isPod: true,
    isStatic: metadata.in('annotations', mirrorAnnotation).isSet,
    old: oldSpec,
  })
  if (spec.in('serviceAccountName').text === '') {
    for (const volume of spec.in('volumes').items) {
      for (const source of volume.in('projected', 'sources').items) {
        const token = source.in('serviceAccountToken')
        if (token.isSet) {
          token.forbidden('must not be specified when serviceAccountName is not set')
        }
      }
    }
  }
  for (const name of ['containers', 'initContainers']) {
    for (const container of spec.in(name).items) checkImage(container)
  }
}
