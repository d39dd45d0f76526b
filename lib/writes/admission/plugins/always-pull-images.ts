/** AlwaysPullImages: a pod gets an image with credentials for it only, though a node may have
 *  it. */

import { goQuote, itemsOf, type JsonObject, type JsonValue } from '@watchglass/go'
import { plainError } from '@watchglass/kube'
import { textOf } from '../../metadata.ts'
import { partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { aggregated, forbidden } from '../refusals.ts'

const containerLists = ['initContainers', 'containers', 'ephemeralContainers']

export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  mutate(attributes) {
    const spec = attributes.object?.get('spec')
    if (!(spec instanceof Map) || isIgnored(attributes)) return undefined
    for (const list of containerLists) {
      change(spec, list, container => new Map(container).set('imagePullPolicy', 'Always'))
    }
    change(spec, 'volumes', volume => {
      const image = volume.get('image')
      if (!(image instanceof Map)) return volume
      return new Map(volume).set('image', new Map(image).set('pullPolicy', 'Always'))
    })
    return undefined
  },
  validate(attributes) {
    const spec = attributes.object?.get('spec')
    if (!(spec instanceof Map) || isIgnored(attributes)) return undefined
    const errors = [...policiesOf(spec)]
      .filter(([, policy]) => policy !== 'Always')
      .map(([place, policy]) => {
        const problem = `${place}: Unsupported value: ${goQuote(policy)}: supported values: "Always"`
        return forbidden(attributes, problem).message
      })
    if (errors.length > 0) throw plainError(aggregated(errors))
    return undefined
  },
}

/** All but pods, and updates without a new image. */
function isIgnored({ isPod, operation, object, old }: AdmissionAttributes): boolean {
  if (!isPod || operation === 'DELETE') return true
  if (operation !== 'UPDATE') return false
  const known = new Set(imagesOf(old))
  return imagesOf(object).every(image => known.has(image))
}

function imagesOf(pod: JsonObject | undefined): string[] {
  const containers = containerLists.flatMap(list => partsOf(pod?.get('spec'), list))
  return containers.map(container => textOf(container.get('image')))
}

/** The old object may have these items, too: they are replaced. */
function change(spec: JsonObject, list: string, changed: (item: JsonObject) => JsonValue): void {
  const known = itemsOf(spec.get(list))
  if (known.length === 0) return
  spec.set(
    list,
    known.map(item => (item instanceof Map ? changed(item) : item)),
  )
}

function* policiesOf(spec: JsonObject): Iterable<[place: string, policy: string]> {
  for (const list of containerLists) {
    for (const [index, container] of partsOf(spec, list).entries()) {
      const place = `spec.${list}[${index}].imagePullPolicy`
      yield [place, textOf(container.get('imagePullPolicy'))]
    }
  }
  for (const [index, volume] of partsOf(spec, 'volumes').entries()) {
    const image = volume.get('image')
    if (!(image instanceof Map)) continue
    yield [`spec.volumes[${index}].image.pullPolicy`, textOf(image.get('pullPolicy'))]
  }
}
