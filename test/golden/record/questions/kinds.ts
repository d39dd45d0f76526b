/** Every resource that the server serves, in every form: as a list and one object of it. */

import { json, kubectl, metadata, metadataList, protobuf, table, yaml } from '../media-types.ts'
import type { Metadata, Recorder } from '../recorder.ts'
import type { Part } from './part.ts'

interface Served {
  readonly path: string
  readonly isNamespaced: boolean
}

export const kinds: Part = {
  name: 'kinds',
  what: 'every resource: lists, gets, Tables, metadata, protobuf, YAML',
  async ask(recorder) {
    for (const served of await servedResources(recorder)) await askResource(recorder, served)
  },
}

export const discovery: Part = {
  name: 'discovery',
  what: 'the documents about groups and resources, /version, OpenAPI',
  async ask(recorder) {
    const area = 'discovery'
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const paths = [
      '/api',
      '/apis',
      '/api/v1',
      '/version',
      '/version/',
      '/openapi/v3',
      '/livez/ping',
    ]
    for (const path of paths) await recorder.ask({ area, path })
    for (const path of ['/api', '/apis']) await recorder.ask({ area, path, accept: aggregated })
    for (const path of ['/api/v1', '/apis']) await recorder.ask({ area, path, accept: protobuf })
    const { object } = await recorder.tell('GET', '/apis')
    for (const { name, versions } of (object as unknown as Groups).groups) {
      await recorder.ask({ area, path: `/apis/${name}` })
      for (const { groupVersion } of versions) {
        await recorder.ask({ area, path: `/apis/${groupVersion}` })
      }
    }
  },
}

interface Groups {
  readonly groups: readonly {
    readonly name: string
    readonly versions: readonly { readonly groupVersion: string }[]
  }[]
}

interface Resources {
  readonly resources: readonly {
    readonly name: string
    readonly namespaced: boolean
    readonly verbs: readonly string[]
  }[]
}

async function servedResources(recorder: Recorder): Promise<Served[]> {
  const { object } = await recorder.tell('GET', '/apis')
  const versions = (object as unknown as Groups).groups.flatMap(group => group.versions)
  const roots = ['/api/v1', ...versions.map(({ groupVersion }) => `/apis/${groupVersion}`)]
  const served: Served[] = []
  for (const root of roots) {
    const answer = await recorder.tell('GET', root)
    for (const { name, namespaced, verbs } of (answer.object as unknown as Resources).resources) {
      if (!verbs.includes('list')) continue
      served.push({ path: `${root}/${name}`, isNamespaced: namespaced })
    }
  }
  return served
}

async function askResource(recorder: Recorder, { path, isNamespaced }: Served): Promise<void> {
  const { object } = await recorder.ask({ area: 'kinds-list', path })
  await recorder.ask({ area: 'kinds-list', path: `${path}?limit=2` })
  await recorder.ask({ area: 'kinds-table', path, accept: kubectl })
  for (const include of ['None', 'Object']) {
    await recorder.ask({
      area: 'kinds-table',
      path: `${path}?includeObject=${include}&limit=2`,
      accept: table,
    })
  }
  await recorder.ask({ area: 'kinds-metadata', path, accept: metadataList })
  await recorder.ask({ area: 'kinds-protobuf', path, accept: protobuf })
  await recorder.ask({ area: 'kinds-yaml', path: `${path}?limit=3`, accept: yaml })
  const of = (object?.items ?? []).at(-1)?.metadata
  if (of === undefined) return
  const one = placeOf(path, isNamespaced, of)
  for (const accept of [json, table, metadata, protobuf, yaml]) {
    await recorder.ask({ area: 'kinds-get', path: one, accept })
  }
  if (!isNamespaced) return
  const collection = one.slice(0, one.lastIndexOf('/'))
  await recorder.ask({ area: 'kinds-list', path: collection })
}

function placeOf(path: string, isNamespaced: boolean, { name, namespace }: Metadata): string {
  const at = path.lastIndexOf('/')
  const escaped = encodeURIComponent(name ?? '')
  return isNamespaced
    ? `${path.slice(0, at)}/namespaces/${namespace}${path.slice(at)}/${escaped}`
    : `${path}/${escaped}`
}
