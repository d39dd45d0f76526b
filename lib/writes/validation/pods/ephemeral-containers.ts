/** Ephemeral containers (KEP-277): added to a running pod to look into it, and never changed or
 *  removed. They may set less than others, since nothing may rely upon them. */

import { hasEmpties } from '../../decode/written-empties.ts'
import { isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkContainer, checkImage, type PodContext } from './containers.ts'
import { mirrorAnnotation } from './pod-annotations.ts'

/** Fields that they do not have, in the order in which the server looks at them. */
const notTheirs: readonly string[] = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
]

const unwanted = 'cannot be set for an Ephemeral Container'

export function checkEphemeralContainers(spec: Place, context: PodContext): void {
  const others = new Set(
    ['containers', 'initContainers'].flatMap(list =>
      spec.in(list).items.map(container => container.in('name').text),
    ),
  )
  const names = new Set(others)
  for (const container of spec.in('ephemeralContainers').items) {
    checkContainer(container, context)
    checkImage(container)
    const [name, target] = [container.in('name'), container.in('targetContainerName')]
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    if (target.text !== '' && !others.has(target.text)) target.notFound(target.text)
    for (const member of notTheirs) {
      if (isNotZero(container.in(member), member)) container.in(member).forbidden(unwanted)
    }
    for (const mount of container.in('volumeMounts').items) {
      for (const path of ['subPath', 'subPathExpr']) {
        if (mount.in(path).text !== '') mount.in(path).forbidden(unwanted)
      }
    }
  }
}

/** Resources without a member are the zero value of their struct, and there by default. */
function isNotZero(place: Place, member: string): boolean {
  return member === 'resources' ? place.size > 0 || hasEmpties(place.value) : place.isWritten
}

/** The rules of `pods/ephemeralcontainers`, of a pod that has been checked as one. A
 *  kube-apiserver's second message goes on with a difference of its structs, which ours leaves
 *  out as all do. */
export function checkEphemeralUpdate(object: Place, old: Place): void {
  if (old.in('metadata', 'annotations', mirrorAnnotation).isSet) {
    object.errors.length = 0
    object.as('[]').forbidden('static pods do not support ephemeral containers')
    return
  }
  const list = object.in('spec', 'ephemeralContainers')
  const now = new Map(list.items.map(container => [container.in('name').text, container.value]))
  for (const before of old.in('spec', 'ephemeralContainers').items) {
    const name = before.in('name').text
    const shown = JSON.stringify(name)
    if (!now.has(name)) {
      list.forbidden(`existing ephemeral containers ${shown} may not be removed\n`)
    } else if (!isSame(now.get(name), before.value)) {
      list.forbidden(`existing ephemeral containers ${shown} may not be changed`)
    }
  }
}
