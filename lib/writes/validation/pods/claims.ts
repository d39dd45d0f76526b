/** The requests of claims of volumes. */

import { quantityNanos } from '@watchglass/go'
import { dnsLabel, dnsSubdomain } from '../formats.ts'
import { checkTemplateObjectMeta } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkLabelSelector } from '../selectors.ts'
import { checkQuantity } from './resources.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

export function checkAccessModes(modes: Place): void {
  for (const mode of modes.texts) {
    if (!accessModes.includes(mode)) modes.notSupported(accessModes, mode)
  }
  const known = modes.texts.filter(mode => accessModes.includes(mode))
  if (known.includes('ReadWriteOncePod') && new Set(known).size > 1) {
    modes.forbidden('may not use ReadWriteOncePod with other access modes')
  }
}

/** The template of a claim that is made with its pod. */
export function checkClaimTemplate(template: Place): void {
  checkTemplateObjectMeta(template.in('metadata'))
  checkClaimSpec(template.in('spec'))
}

/** @param hadGroup a source of the claim had a group before, which then may be any text */
export function checkClaimSpec(spec: Place, hadGroup = false): void {
  const modes = spec.in('accessModes')
  if (modes.size === 0) modes.required('at least 1 access mode is required')
  checkLabelSelector(spec.in('selector'))
  checkAccessModes(modes)
  checkSize(spec)
  const storageClass = spec.in('storageClassName')
  if (storageClass.text !== '') storageClass.mustBe(dnsSubdomain)
  const mode = spec.in('volumeMode')
  if (mode.isSet) mode.oneOf(['Block', 'Filesystem'], 'unsupported')
  checkSources(spec, hadGroup)
  const attributes = spec.in('volumeAttributesClassName')
  if (attributes.text !== '') attributes.mustBe(dnsSubdomain)
}

function checkSize(spec: Place): void {
  const storage = spec.in('resources', 'requests', 'storage')
  const place = storage.as(`${spec.path}.resources[storage]`)
  if (!storage.isSet) place.required()
  else if (quantityNanos(storage.text) <= 0n) place.invalid('must be greater than zero')
  else checkQuantity(place, 'storage')
}

function checkSources(spec: Place, hadGroup: boolean): void {
  const [source, reference] = [spec.in('dataSource'), spec.in('dataSourceRef')]
  for (const place of [source, reference]) if (place.isSet) checkSource(place, hadGroup)
  const namespace = reference.in('namespace')
  if (namespace.text !== '') {
    if (source.isSet) {
      spec.invalid('may not be specified when dataSourceRef.namespace is specified', new Map())
    }
  } else if (source.isSet && reference.isSet) {
    // A group that is empty is another one than none.
    const groups = [source, reference].map(place => place.in('apiGroup').value ?? null)
    const isEqual =
      groups[0] === groups[1] &&
      ['kind', 'name'].every(name => source.in(name).text === reference.in(name).text)
    if (!isEqual) spec.invalid('must match dataSourceRef', new Map())
  }
}

function checkSource(source: Place, hadGroup: boolean): void {
  const [group, kind, namespace] = [
    source.in('apiGroup').text,
    source.in('kind').text,
    source.in('namespace'),
  ]
  for (const name of ['name', 'kind']) if (source.in(name).text === '') source.in(name).required()
  if (group === '') {
    if (kind !== 'PersistentVolumeClaim') {
      source.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind)
    }
  } else if (!hadGroup) source.in('apiGroup').mustBe(dnsSubdomain)
  if (namespace.text !== '') namespace.mustBe(dnsLabel)
}
