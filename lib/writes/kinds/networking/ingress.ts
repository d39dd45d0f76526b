/** Ingresses: rules by host and path, with a default backend or without. */

import { parseAddress } from '@watchglass/go'
import {
  dnsLabel,
  dnsSubdomain,
  portName,
  portNumber,
  wildcardSubdomain,
} from '../../validation/formats.ts'
import { checkLegacyAddress } from '../../validation/ip-fields.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofAddress } from '../../warnings/addresses.ts'
import { hasAnnotation } from '../../warnings/annotations.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkReference } from './shared/references.ts'

export const ingress: BuiltInKind = kind({
  group: 'networking.k8s.io',
  kind: 'Ingress',
  plural: 'ingresses',
  hasStatus: true,
  counted: ['spec'],
  validateCreate: object => {
    checkIngress(object.in('spec'), { areSecretsFree: false, areWildcardsFree: false })
    checkClassAnnotation(object)
  },
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    checkIngress(object.in('spec'), allowedBy(old.in('spec')))
  },
  warn: ofIngress,
  subresources: {
    status: {
      validate: checkIngressStatus,
      warn: object =>
        object
          .in('status', 'loadBalancer', 'ingress')
          .items.flatMap(point => ofAddress(point.as(point.path, point.in('ip').value))),
    },
  },
})

/** The faults of a stored Ingress that may stay: they were not checked once. */
interface Allowed {
  /** Any name of a Secret. */
  readonly areSecretsFree: boolean
  /** Any paths of a host with a wildcard. */
  readonly areWildcardsFree: boolean
}

function allowedBy(old: Place): Allowed {
  const alone = old.with([])
  const secrets = alone.in('tls').items.map(tls => tls.in('secretName'))
  return {
    areSecretsFree: secrets.some(({ text }) => text !== '' && dnsSubdomain(text).length > 0),
    areWildcardsFree: alone.in('rules').items.some(rule => {
      const known = rule.with([])
      if (rule.in('host').text.includes('*')) checkPaths(known)
      return known.errors.length > 0
    }),
  }
}

function checkIngress(spec: Place, { areSecretsFree, areWildcardsFree }: Allowed): void {
  const [backend, rules] = [spec.in('defaultBackend'), spec.in('rules')]
  if (rules.size === 0 && !backend.isSet) {
    spec.invalid('either `defaultBackend` or `rules` must be specified', rules.shown)
  }
  if (backend.isSet) checkBackend(backend)
  for (const rule of rules.items) checkRule(rule, areWildcardsFree)
  for (const tls of spec.in('tls').items) {
    for (const host of tls.in('hosts').items) {
      host.mustBe(host.text.includes('*') ? wildcardSubdomain : dnsSubdomain)
    }
    const secret = tls.in('secretName')
    if (secret.text !== '' && !areSecretsFree) secret.mustBe(dnsSubdomain)
  }
  if (spec.in('ingressClassName').isSet) spec.in('ingressClassName').mustBe(dnsSubdomain)
}

function checkClassAnnotation(object: Place): void {
  const name = 'kubernetes.io/ingress.class'
  const annotation = object.in('metadata', 'annotations', name)
  const className = object.in('spec', 'ingressClassName')
  if (!annotation.isSet || !className.isSet || annotation.text === className.text) return
  annotation
    .as(`annotations.${name}`)
    .invalid('must match `ingressClassName` when both are specified')
}

function checkRule(rule: Place, areWildcardsFree: boolean): void {
  const host = rule.in('host')
  if (host.text !== '') {
    if (parseAddress(host.text) !== undefined) {
      host.invalid('must be a DNS name, not an IP address')
    }
    host.mustBe(host.text.includes('*') ? wildcardSubdomain : dnsSubdomain)
  }
  if (!areWildcardsFree || !host.text.includes('*')) checkPaths(rule)
}

function checkPaths(rule: Place): void {
  const http = rule.in('http')
  if (!http.isSet) return
  if (http.in('paths').size === 0) http.in('paths').required()
  for (const path of http.in('paths').items) checkPath(path)
}

const badSequences = ['//', '/./', '/../', '%2f', '%2F']

const badEndings = ['/..', '/.']

function checkPath(item: Place): void {
  const [type, path] = [item.in('pathType'), item.in('path')]
  if (!type.isSet) {
    type.required('pathType must be specified')
    return
  }
  const isExact = type.text === 'Exact' || type.text === 'Prefix'
  if (isExact || type.text === 'ImplementationSpecific') {
    if (!path.text.startsWith('/') && (isExact || path.text !== '')) {
      path.invalid('must be an absolute path', path.text)
    }
  } else type.notSupported(['Exact', 'ImplementationSpecific', 'Prefix'])
  if (isExact) {
    for (const bad of badSequences) {
      if (path.text.includes(bad)) path.invalid(`must not contain '${bad}'`)
    }
    for (const bad of badEndings) {
      if (path.text.endsWith(bad)) path.invalid(`cannot end with '${bad}'`)
    }
  }
  checkBackend(item.in('backend'))
}

function checkBackend(backend: Place): void {
  const [resource, service] = [backend.in('resource'), backend.in('service')]
  if (resource.isSet && service.isSet) {
    backend.invalid('cannot set both resource and service backends', '')
  } else if (resource.isSet) checkReference(resource)
  else if (service.isSet) checkServiceBackend(backend, service)
  else backend.invalid('resource or service backend is required', '')
}

function checkServiceBackend(backend: Place, service: Place): void {
  const [name, port, number] = [
    service.in('name'),
    service.in('port', 'name'),
    service.in('port', 'number'),
  ]
  if (name.text === '') name.required()
  else name.mustBe(dnsLabel)
  if (port.text !== '' && number.number !== 0) {
    backend.invalid('cannot set both port name & port number', '')
  } else if (port.text !== '') port.mustBe(portName)
  else if (number.number !== 0) number.invalidFor(portNumber(number.number))
  else backend.required('port name or number is required')
}

function checkIngressStatus(object: Place, old: Place): void {
  const path = ['status', 'loadBalancer', 'ingress'] as const
  const known = old.in(...path).items.map(item => item.in('ip').text)
  for (const item of object.in(...path).items) {
    const [ip, hostname] = [item.in('ip'), item.in('hostname')]
    if (ip.text !== '') checkLegacyAddress(ip, known)
    if (hostname.text === '') continue
    hostname.mustBe(dnsSubdomain)
    if (parseAddress(hostname.text) !== undefined) {
      hostname.invalid('must be a DNS name, not an IP address')
    }
  }
}

const ingressClass = 'kubernetes.io/ingress.class'

function ofIngress(object: Place, old: Place | undefined): string[] {
  if (old !== undefined || !hasAnnotation(object, ingressClass)) return []
  return object.in('spec', 'ingressClassName').isSet
    ? []
    : [`annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`]
}
