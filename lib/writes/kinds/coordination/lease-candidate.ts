/** LeaseCandidates: who would like to hold a Lease, and in which version it runs (KEP 4355). */

import { CelError, compareVersions, type Semver, semverFrom } from '@watchglass/cel'
import { NamedText } from '../../field-errors.ts'
import { configKey, qualifiedName } from '../../validation/formats.ts'
import { checkImmutable } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const leaseCandidate: BuiltInKind = kind({
  group: 'coordination.k8s.io',
  kind: 'LeaseCandidate',
  plural: 'leasecandidates',
  createsOnUpdate: true,
  needsVersion: true,
  nameFormat: configKey,
  hasFreeFinalizers: true,
  validateCreate: object => checkCandidate(object.in('spec')),
  validateUpdate: (object, old) => {
    checkCandidate(object.in('spec'))
    checkImmutable(object.in('spec', 'leaseName'), old.in('spec', 'leaseName'))
  },
})

const zero = semverFrom('0.0.0')
const oldest = 'OldestEmulationVersion'

function checkCandidate(spec: Place): void {
  const [name, emulated] = [spec.in('leaseName'), spec.in('emulationVersion')]
  const [binary, strategy] = [spec.in('binaryVersion'), spec.in('strategy')]
  if (name.text === '') name.required()
  const emulation = versionIn(emulated)
  if (binary.text === '') binary.required()
  const isOlder = compareVersions(versionIn(binary), emulation) < 0
  if (isOlder && binary.text !== '' && emulated.text !== '') {
    binary.invalid('must be greater than or equal to `emulationVersion`')
  }
  if (strategy.text === '') strategy.required()
  else checkStrategy(strategy)
  if (strategy.text === oldest && compareVersions(emulation, zero) === 0) {
    emulated.required("must be specified when `strategy` is 'OldestEmulationVersion'")
  }
}

/** The version in a text; 0.0.0 where there is none, or a malformed one, which is refused. */
function versionIn(place: Place): Semver {
  if (place.text === '') return zero
  try {
    return semverFrom(place.text)
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    place.invalid('must be a valid semantic version')
    return zero
  }
}

/** A strategy of Kubernetes, or one with a domain. Errors name the field twice, as
 *  ValidateCoordinatedLeaseStrategy does. */
function checkStrategy(strategy: Place): void {
  const { text, path } = strategy
  const named = strategy.as(`${path}.strategy`)
  if (text.includes('/')) named.invalidFor(qualifiedName(text), new NamedText(text))
  else if (text !== oldest) named.notSupported([oldest])
}
