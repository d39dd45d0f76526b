/** The parts of ResourceClaims that both what is wanted and what was given have. */

import { textFromTree } from '@watchglass/go'
import { isSameRaw } from '../../../raw-json.ts'
import { byteLength, dnsLabel } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'
import { checkDriverName } from '../../../validation/pods/volumes.ts'

/** The names of requests, each with those of its alternatives where it has any. */
export type Requests = ReadonlyMap<string, ReadonlySet<string> | undefined>

export function requestsOf(devices: Place): Requests {
  return new Map(
    devices.in('requests').items.map(request => {
      const names = request.in('firstAvailable').items.map(item => item.in('name').text)
      return [request.in('name').text, names.length === 0 ? undefined : new Set(names)]
    }),
  )
}

/** Names of requests, each once. */
export function checkNames(names: Place, requests: Requests): void {
  if (names.size > 32) {
    names.tooMany(32)
    return
  }
  const { items } = names
  for (const name of items) checkReference(name, requests)
  const seen = new Set<string>()
  for (const name of items) {
    if (seen.has(name.text)) name.duplicate(name.text)
    seen.add(name.text)
  }
}

export function checkReference(name: Place, requests: Requests): void {
  const parts = name.text.split('/')
  const [request = '', alternative] = parts
  if (parts.length <= 2) for (const part of parts) name.invalidFor(dnsLabel(part), part)
  const isKnown =
    requests.has(request) && (alternative === undefined || requests.get(request)?.has(alternative))
  if (parts.length <= 2 && isKnown === true) return
  name.invalid(
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
    name.text,
  )
}

export function checkOpaque(config: Place): void {
  const opaque = config.in('opaque')
  if (!opaque.isSet) {
    opaque.required()
    return
  }
  checkDriverName(opaque.in('driver'))
  const parameters = opaque.in('parameters')
  if (!parameters.isSet) parameters.required()
  else if (byteLength(textFromTree(parameters.value ?? null)) > 10_240) parameters.tooLong(10_240)
  else if (parameters.object === undefined) {
    parameters.invalid('must be a valid JSON object', '<value omitted>')
  }
}

/** True if the opaque parameters of both are the same to Go, which has them as bytes. */
export function hasSameParameters(devices: Place, old: Place): boolean {
  const [now, before] = [devices, old].map(of => {
    return of.in('config').items.map(config => config.in('opaque', 'parameters').value ?? null)
  })
  return isSameRaw(now, before)
}
