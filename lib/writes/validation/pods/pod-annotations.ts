/** Annotations of pods and of their templates that mean something to the server. Those of AppArmor
 *  and seccomp are older than the fields of the security context, and are still checked. */

import { GoJsonError, goQuote, parseGoJson, parseTree } from '@watchglass/go'
import type { Place } from '../place.ts'
import { containersOf } from './os.ts'
import { checkDescending } from './paths.ts'
import { checkTolerations } from './scheduling.ts'

/** The annotation of a mirror pod, which stands for a file on its node. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror'
const costAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
const tolerationsAnnotation = 'scheduler.alpha.kubernetes.io/tolerations'
const seccompAnnotation = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
/** The prefix of annotations that end with the name of a container. */
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

export function checkPodAnnotations(annotations: Place, spec: Place): void {
  const mirror = annotations.in(mirrorAnnotation)
  if (mirror.isSet && spec.in('nodeName').text === '') {
    keyed(annotations, mirrorAnnotation).invalid(
      'must set spec.nodeName if mirror pod annotation is set',
    )
  }
  checkOldTolerations(annotations)
  const cost = annotations.in(costAnnotation)
  if (cost.isSet && !isInt32(cost.text)) {
    keyed(annotations, costAnnotation).invalid('must be a 32bit integer')
  }
  checkOldSeccomp(annotations)
  const names = new Set(containersOf(spec).map(container => container.in('name').text))
  for (const [key, place] of sorted(annotations)) {
    if (!key.startsWith(appArmorPrefix)) continue
    const name = key.slice(appArmorPrefix.length)
    if (!names.has(name)) place.invalid('container not found', name)
    if (!isAppArmorProfile(place.text)) {
      place.invalid(`invalid AppArmor profile name: ${goQuote(place.text)}`)
    }
  }
}

function keyed(annotations: Place, key: string): Place {
  return annotations.in(key).as(`${annotations.path}[${key}]`)
}

/** Go's order of a map is chance, and ours is that of the keys. */
function sorted(annotations: Place): (readonly [key: string, value: Place])[] {
  return annotations.entries.sort(([a], [b]) => (a < b ? -1 : 1))
}

/** A number that does not begin with a zero: where it is negative, its digits may. */
function isInt32(text: string): boolean {
  const number = Number(text)
  return /^(?:0|-\d+|[1-9]\d*)$/.test(text) && number >= -2147483648 && number <= 2147483647
}

function checkOldTolerations(annotations: Place): void {
  const { text } = annotations.in(tolerationsAnnotation)
  if (text === '') return
  const bytes = Buffer.from(text)
  try {
    parseGoJson(bytes)
  } catch (error) {
    if (!(error instanceof GoJsonError)) throw error
    annotations.invalid(error.message, tolerationsAnnotation)
    return
  }
  const path = `${annotations.path}.${tolerationsAnnotation}`
  checkTolerations(annotations.as(path, parseTree(bytes, 0, bytes.length)))
}

function checkOldSeccomp(annotations: Place): void {
  const containers = sorted(annotations).filter(([key]) => key.startsWith(seccompPrefix))
  const ofPod = annotations.in(seccompAnnotation)
  const all = ofPod.isSet ? [[seccompAnnotation, ofPod] as const, ...containers] : containers
  for (const [key, { text, value }] of all) {
    if (['runtime/default', 'docker/default', 'unconfined'].includes(text)) continue
    const place = annotations.as(`${annotations.path}.${key}`, value)
    if (!text.startsWith('localhost/')) place.invalid('must be a valid seccomp profile')
    else checkDescending(place.as(place.path, text.slice('localhost/'.length)))
  }
}

function isAppArmorProfile(text: string): boolean {
  return ['', 'runtime/default', 'unconfined'].includes(text) || text.startsWith('localhost/')
}

/** Profiles that are given by annotation and by field are the same ones. */
export function checkProfilesMatch(annotations: Place, spec: Place): void {
  const own = annotations.in(seccompAnnotation)
  checkSeccompMatches(own, spec.in('securityContext', 'seccompProfile'))
  for (const container of containersOf(spec)) {
    const annotation = annotations.in(`${seccompPrefix}${container.in('name').text}`)
    checkSeccompMatches(annotation, container.in('securityContext', 'seccompProfile'))
  }
  checkAppArmorMatches(annotations, spec)
}

function checkSeccompMatches({ isSet, text }: Place, profile: Place): void {
  if (!isSet || !profile.isSet) return
  const type = profile.in('type')
  const wanted = annotationsOf[type.text] ?? [text]
  if (type.text === 'Localhost') {
    const [prefix, local] = ['localhost/', profile.in('localhostProfile')]
    if (!text.startsWith(prefix)) type.forbidden('seccomp type in annotation and field must match')
    else if (!local.isSet || text !== prefix + local.text) {
      local.forbidden('seccomp profile in annotation and field must match')
    }
  } else if (!wanted.includes(text)) {
    type.forbidden('seccomp type in annotation and field must match')
  }
}

const annotationsOf: Readonly<Record<string, readonly string[]>> = {
  Unconfined: ['unconfined'],
  RuntimeDefault: ['runtime/default', 'docker/default'],
}

function checkAppArmorMatches(annotations: Place, spec: Place): void {
  if (spec.in('os', 'name').text === 'windows') return
  const ofPod = spec.in('securityContext', 'appArmorProfile')
  for (const container of containersOf(spec)) {
    const annotation = annotations.in(`${appArmorPrefix}${container.in('name').text}`)
    const field = container.in('securityContext', 'appArmorProfile')
    const profile = field.isSet ? field : ofPod
    if (!annotation.isSet || !profile.isSet) continue
    const wanted = annotationOf[profile.in('type').text]
    if (wanted === undefined) continue
    if (!annotation.text.startsWith(wanted)) {
      field.in('type').forbidden('apparmor type in annotation and field must match')
    } else if (annotation.text !== `${wanted}${localProfile(profile)}`) {
      const detail = 'apparmor profile in annotation and field must match'
      field.in('localhostProfile').forbidden(detail)
    }
  }
}

const annotationOf: Readonly<Record<string, string>> = {
  Unconfined: 'unconfined',
  RuntimeDefault: 'runtime/default',
  Localhost: 'localhost/',
}

function localProfile(profile: Place): string {
  return profile.in('type').text === 'Localhost' ? profile.in('localhostProfile').text : ''
}

/** Checks the annotations of a changed pod, which the server does twice where it also checks the
 *  pod. */
export function checkAnnotationUpdates(object: Place, old: Place): void {
  const [annotations, before] = [object, old].map(pod => pod.in('metadata', 'annotations')) as [
    Place,
    Place,
  ]
  for (const [key, { text }] of sorted(before)) {
    const what = fixedName(key)
    const now = annotations.in(key)
    if (what === undefined || (now.isSet && now.text === text)) continue
    keyed(annotations, key).forbidden(`may not remove or update ${what}`)
  }
  for (const [key] of sorted(annotations)) {
    const what = fixedName(key)
    if (what === undefined || before.in(key).isSet) continue
    keyed(annotations, key).forbidden(`may not add ${what}`)
  }
  checkPodAnnotations(annotations, object.in('spec'))
}

/** The name of an annotation that a pod has from its beginning or never. */
function fixedName(key: string): string | undefined {
  if (key.startsWith(appArmorPrefix)) return 'AppArmor annotations'
  return key === mirrorAnnotation ? 'mirror pod annotation' : undefined
}
