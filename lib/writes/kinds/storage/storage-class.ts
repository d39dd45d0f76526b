/** StorageClasses: parameters, provisioner, reclaim policy and binding mode never change. */

import { type JsonValue, textFromTree } from '@watchglass/go'
import { qualifiedName } from '../../validation/formats.ts'
import { checkImmutable } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofOldLabel } from '../../warnings/labels.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkParameters, checkProvisioner } from './shared/parameters.ts'

export const storageClass: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'StorageClass',
  plural: 'storageclasses',
  returnsDeleted: true,
  isCheckedAsNew: true,
  validateCreate: checkStorageClass,
  validateUpdate: (object, old) => {
    checkStorageClass(object)
    for (const name of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
      checkImmutable(object.in(name), old.in(name))
    }
  },
  warn: ofStorageClass,
})

function checkStorageClass(object: Place): void {
  checkProvisioner(object.in('provisioner'))
  checkParameters(object.in('parameters'))
  object.in('reclaimPolicy').oneOf(['Delete', 'Retain'], 'fine')
  object.in('volumeBindingMode').oneOf(['Immediate', 'WaitForFirstConsumer'], 'unsupported')
  checkTopologies(object.in('allowedTopologies'))
}

function checkTopologies(terms: Place): void {
  // The server begins with as many empty ones.
  const seen = terms.items.map(() => '{}')
  for (const term of terms.items) {
    const keys = new Set<string>()
    for (const item of term.in('matchLabelExpressions').items) {
      const [key, values] = [item.in('key'), item.in('values')]
      if (values.size === 0) values.required()
      const known = new Set<string>()
      for (const value of values.items) {
        if (known.has(value.text)) value.duplicate()
        known.add(value.text)
      }
      key.mustBe(qualifiedName)
      if (keys.has(key.text)) key.duplicate()
      keys.add(key.text)
    }
    const expressions = term.in('matchLabelExpressions')
    const text = textOfTerm(expressions)
    for (const other of seen) if (other === text) expressions.duplicate('')
    seen.push(text)
  }
}

/** Which values a term asks for, whatever the order and how often; of a repeated key the last. */
function textOfTerm(expressions: Place): string {
  const members = expressions.items.map((item): [string, JsonValue] => {
    return [item.in('key').text, [...new Set(item.in('values').texts)].sort()]
  })
  return textFromTree(new Map(members.sort(([a], [b]) => (a < b ? -1 : 1))))
}

function ofStorageClass(object: Place): string[] {
  return object
    .in('allowedTopologies')
    .items.flatMap(term => term.in('matchLabelExpressions').items)
    .map(expression => expression.in('key'))
    .flatMap(({ path, text }) => ofOldLabel(text, path))
}
