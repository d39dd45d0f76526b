/** Files of a volume that lie upon each other: the last one wins, or none can be made. */

import { goQuote } from '@watchglass/go'
import type { Place } from '../validation/place.ts'

interface File {
  readonly path: string
  /** Empty where the volume has one source. */
  readonly source: string
}

export function ofOverlaps(volumes: Place): string[] {
  return volumes.items.flatMap(volume => {
    const say = (what: string) => (overlap: string) =>
      `volume ${goQuote(volume.in('name').text)} (${what}): overlapping paths: ${overlap}`
    const [map, secret, downward, projected] = [
      volume.in('configMap'),
      volume.in('secret'),
      volume.in('downwardAPI'),
      volume.in('projected'),
    ]
    return [
      ...overlapsIn(filesOf(map)).map(say(`ConfigMap ${goQuote(map.in('name').text)}`)),
      ...overlapsIn(filesOf(secret)).map(say(`Secret ${goQuote(secret.in('secretName').text)}`)),
      ...overlapsIn(filesOf(downward)).map(say('DownwardAPI')),
      ...ofProjected(volume, projected, say('Projected')),
    ]
  })
}

function ofProjected(volume: Place, projected: Place, say: (overlap: string) => string): string[] {
  const known: File[] = []
  return projected.in('sources').items.flatMap(source => {
    if (![...(source.object?.values() ?? [])].some(value => value !== null)) {
      return [`volume ${goQuote(volume.in('name').text)} (Projected) has no sources provided`]
    }
    return overlapsIn(filesOfSource(source), known).map(say)
  })
}

function filesOf(source: Place, name = ''): File[] {
  return source.in('items').items.map(item => ({ path: item.in('path').text, source: name }))
}

/** The files of a part of a projected volume: it has one kind of content. */
function filesOfSource(source: Place): File[] {
  const [map, secret, downward] = ['configMap', 'secret', 'downwardAPI'].map(name =>
    source.in(name),
  ) as [Place, Place, Place]
  if (map.in('items').isSet) return filesOf(map, `ConfigMap ${goQuote(map.in('name').text)}`)
  if (secret.in('items').isSet) return filesOf(secret, `Secret ${goQuote(secret.in('name').text)}`)
  if (downward.in('items').isSet) return filesOf(downward, 'DownwardAPI')
  const token = source.in('serviceAccountToken')
  return token.isSet ? [{ path: token.in('path').text, source: 'ServiceAccountToken' }] : []
}

/** @param known files that are there, to which these are added */
function overlapsIn(files: readonly File[], known: File[] = []): string[] {
  return files.flatMap(({ path, source }) => {
    const file = { path: path.replace(/\/+$/, ''), source }
    const others = known.filter(other => areOverlapping(file.path, other.path))
    known.push(file)
    return others.map(other => `${shown(file)} with ${shown(other)}`)
  })
}

function areOverlapping(a: string, b: string): boolean {
  if (a === '' || b === '') return false
  return `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`)
}

function shown({ path, source }: File): string {
  return source === '' ? goQuote(path) : `${goQuote(path)} (${source})`
}
