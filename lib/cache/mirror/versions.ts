/** Which guarantees each etcd version keeps.
 *
 *  | below | what is wrong there | etcd issues |
 *  |---|---|---|
 *  | 3.4.31, 3.5.13 | progress marks overtake events or never come; watches lose events | 15220, 17507, 17529 |
 *  | 3.4.42, 3.5.28, 3.6.9 | a linearizable read can be stale after the process was paused | 20418 |
 *
 *  A pre-release of a version counts as below it. */

import type { MemberStatus } from '@watchglass/etcd'

export interface EtcdVersion {
  readonly major: number
  readonly minor: number
  readonly patch: number
  readonly isPrerelease: boolean
}

/** The first good patch release of each minor version; later minor versions are good from the
 *  start. */
type FirstGood = ReadonlyMap<number, number>

const soundProgress: FirstGood = new Map([
  [4, 31],
  [5, 13],
])
const soundQuorumReads: FirstGood = new Map([
  [4, 42],
  [5, 28],
  [6, 9],
])

/** Parses `3.5.13`, `3.6.0-rc.1` or `3.5.13+k3s1`; `undefined` for any other text. */
export function etcdVersionFromText(text: string): EtcdVersion | undefined {
  const match = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(-[^+]+)?(\+.*)?$/.exec(text)
  if (match === null) return undefined
  const [, major, minor, patch, prerelease] = match
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    isPrerelease: prerelease !== undefined,
  }
}

/** True if progress marks of this version are correct. */
export function isProgressSound(version: EtcdVersion): boolean {
  return isFrom(version, soundProgress)
}

/** True if a linearizable read of this version is never stale. */
export function areQuorumReadsSound(version: EtcdVersion): boolean {
  return isFrom(version, soundQuorumReads)
}

/** The versions of all endpoints together. */
export interface VersionReport {
  readonly endpoints: readonly EndpointVersion[]
  /** At least one endpoint answered, and none that did has unsound progress marks. */
  readonly isProgressSound: boolean
  readonly areQuorumReadsSound: boolean
}

export interface EndpointVersion {
  readonly endpoint: string
  /** As the endpoint reports it; `undefined` if it did not answer. */
  readonly text: string | undefined
  readonly isProgressSound: boolean
  readonly areQuorumReadsSound: boolean
}

/** Evaluates each endpoint, and all together. A text that is not a version counts as unsound. */
export function judgeVersions(statuses: readonly MemberStatus[]): VersionReport {
  const endpoints = statuses.map(endpointVersion)
  const answered = endpoints.filter(({ text }) => text !== undefined)
  return {
    endpoints,
    isProgressSound: answered.length > 0 && answered.every(one => one.isProgressSound),
    areQuorumReadsSound: answered.length > 0 && answered.every(one => one.areQuorumReadsSound),
  }
}

function endpointVersion(status: MemberStatus): EndpointVersion {
  const { endpoint } = status
  if ('failure' in status) {
    return { endpoint, text: undefined, isProgressSound: false, areQuorumReadsSound: false }
  }
  const version = etcdVersionFromText(status.version)
  return {
    endpoint,
    text: status.version,
    isProgressSound: version !== undefined && isProgressSound(version),
    areQuorumReadsSound: version !== undefined && areQuorumReadsSound(version),
  }
}

function isFrom(version: EtcdVersion, firstGood: FirstGood): boolean {
  const { major, minor, patch, isPrerelease } = version
  if (major !== 3) return major > 3
  const first = firstGood.get(minor)
  if (first === undefined) return minor > Math.max(...firstGood.keys())
  return patch > first || (patch === first && !isPrerelease)
}
