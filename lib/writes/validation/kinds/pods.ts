/** Pods, and templates of pods. */

import type { KindRules } from '../kind-rules.ts'
import { checkNewMeta } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkImage } from '../pods/containers.ts'
import { checkEphemeralUpdate } from '../pods/ephemeral-containers.ts'
import {
  checkAnnotationUpdates,
  checkProfilesMatch,
  checkPodAnnotations,
  mirrorAnnotation,
} from '../pods/pod-annotations.ts'
import { checkPodSpec, checkTemplate } from '../pods/pod-spec.ts'
import { checkPodStatus } from '../pods/pod-status.ts'
import { checkPodUpdate } from '../pods/pod-updates.ts'
import { canBeResized, checkResize } from '../pods/resize.ts'

export const podRules: Readonly<Record<string, KindRules>> = {
  Pod: {
    create: object => {
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
    update: (object, old) => {
      checkNewMeta(object)
      checkPod(object)
      checkPodUpdate(object, old)
    },
    subresources: {
      status: (object, old) => {
        checkAnnotationUpdates(object, old)
        checkPodStatus(object, old)
      },
      ephemeralcontainers: (object, old) => {
        checkPod(object)
        checkAnnotationUpdates(object, old)
        checkEphemeralUpdate(object, old)
      },
      resize: (object, old) => {
        if (!canBeResized(object, old)) return
        checkPod(object)
        checkResize(object, old)
      },
    },
  },
  PodTemplate: {
    create: object => checkTemplate(object.in('template')),
    update: object => checkTemplate(object.in('template')),
  },
}

function checkPod(object: Place): void {
  const [metadata, spec] = [object.in('metadata'), object.in('spec')]
  checkPodAnnotations(metadata.in('annotations'), spec)
  checkPodSpec(spec, {
    podName: metadata.in('name').text,
    isPod: true,
    isStatic: metadata.in('annotations', mirrorAnnotation).isSet,
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
