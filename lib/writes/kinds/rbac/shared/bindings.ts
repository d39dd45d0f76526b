/** The subjects of a binding, and the role that it gives them. */

import { dnsSubdomain, pathSegment } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'

const group = 'rbac.authorization.k8s.io'

export function checkBinding(object: Place, isNamespaced: boolean): void {
  const reference = object.in('roleRef')
  const [apiGroup, kind, name] = [
    reference.in('apiGroup'),
    reference.in('kind'),
    reference.in('name'),
  ]
  if (apiGroup.text !== group) apiGroup.notSupported([group], apiGroup.text)
  kind.oneOf(isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'], 'unsupported')
  if (name.text === '') name.required()
  else name.mustBe(pathSegment)
  for (const subject of object.in('subjects').items) checkSubject(subject, isNamespaced)
}

function checkSubject(subject: Place, isNamespaced: boolean): void {
  const [name, kind, apiGroup, namespace] = [
    subject.in('name'),
    subject.in('kind'),
    subject.in('apiGroup'),
    subject.in('namespace'),
  ]
  if (name.text === '') name.required()
  if (kind.text === 'ServiceAccount') {
    if (name.text !== '') name.mustBe(dnsSubdomain)
    if (apiGroup.text !== '') apiGroup.notSupported([''])
    if (!isNamespaced && namespace.text === '') namespace.required()
  } else if (kind.text === 'User' || kind.text === 'Group') {
    if (apiGroup.text !== group) apiGroup.notSupported([group], apiGroup.text)
  } else kind.notSupported(['ServiceAccount', 'User', 'Group'], kind.text)
}
