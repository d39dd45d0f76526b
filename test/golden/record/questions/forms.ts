/** Requests in odd forms: media types, parameters, paths, methods, and who asks. */

import { json, kubectl, metadata, protobuf, table, yaml } from '../media-types.ts'
import { users, type User } from '../users.ts'
import { askAll, matrix, type Part, widgets, withQuery } from './part.ts'

const one = `${matrix}/m-a`

const accepts: readonly (string | null)[] = [
  null,
  '*/*',
  'application/*',
  json,
  `${json};charset=utf-8`,
  'text/html',
  'text/plain',
  'text/html,application/xhtml+xml,*/*;q=0.8',
  'application/xml',
  `${json};q=0.5,${yaml};q=0.9`,
  `${yaml};q=0.5,${json};q=0.9`,
  `application/xml,${json};q=0.1`,
  `${json};as=Table;v=v9;g=meta.k8s.io`,
  `${json};as=Table;v=v1;g=example.com`,
  `${json};as=Nothing;v=v1;g=meta.k8s.io`,
  `${protobuf},${json}`,
  `${protobuf};as=Table;v=v1;g=meta.k8s.io`,
  `${yaml};as=Table;v=v1;g=meta.k8s.io`,
  metadata,
  `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`,
  'application/cbor',
  `application/cbor,${json}`,
  `${json};stream=watch`,
  `${json};pretty=1`,
  '',
  'nonsense',
  `${json};`,
  `${json};q=0`,
]

export const negotiation: Part = {
  name: 'negotiation',
  what: 'Accept headers, and which error comes first',
  async ask(recorder) {
    for (const accept of accepts) {
      for (const path of [
        one,
        withQuery(matrix, { limit: '1' }),
        withQuery(widgets, { limit: '1' }),
      ]) {
        await recorder.ask({ area: 'negotiation', path, accept })
      }
    }
    const wrong = [
      '?limit=x',
      '?resourceVersion=abc',
      '?resourceVersionMatch=Bogus',
      '?labelSelector=%3D%3D',
      '?continue=zz',
      '?timeout=abc',
      '?watch=true&sendInitialEvents=true',
      '?fieldSelector=x%3D1',
      '?includeObject=Nothing',
      '/missing',
      '/m-a?resourceVersion=abc',
    ]
    for (const accept of ['text/html', table, protobuf, yaml]) {
      await askAll(
        recorder,
        '406-order',
        wrong.map(end => `${matrix}${end}`),
        { accept },
      )
    }
    for (const include of ['None', 'Metadata', 'Object', 'none', '', 'Bogus']) {
      const path = withQuery(matrix, { includeObject: include })
      await recorder.ask({ area: 'table-options', path, accept: table })
      await recorder.ask({
        area: 'table-options',
        path: withQuery(path, { limit: '1' }),
        accept: kubectl,
      })
    }
  },
}

export const parameters: Part = {
  name: 'parameters',
  what: 'odd parameters, paths and methods; pretty; gzip',
  async ask(recorder) {
    const values = [
      'limit=-1',
      'limit=abc',
      'limit=1.5',
      'limit=99999999999999999999',
      'limit=0',
      'limit=1&limit=2',
      'limit=%201',
      'timeoutSeconds=-1',
      'timeoutSeconds=x',
      'timeout=1s',
      'timeout=abc',
      'foo=bar&limit=1',
      'allowWatchBookmarks=maybe',
      'resourceVersionMatch=Bogus',
      'sendInitialEvents=maybe',
      'sendInitialEvents=true',
      'resourceVersion=5&resourceVersionMatch=Bogus',
      'limit=1;x=2',
      'limit=%zz',
      'watch=false',
      'watch=0',
      'labelSelector=%ff',
      'limit',
      '&&limit=1',
      'limit=1&',
    ]
    await askAll(
      recorder,
      'params',
      values.map(value => `${matrix}?${value}`),
    )
    const pretty = ['pretty', 'pretty=true', 'pretty=1', 'pretty=0', 'pretty=false', 'pretty=x']
    await askAll(
      recorder,
      'pretty',
      pretty.flatMap(value => [`${one}?${value}`, `${matrix}?limit=1&${value}`]),
    )
    await askAll(recorder, 'pretty', [`${matrix}/missing?pretty=true`])
    for (const agent of ['curl/8.5.0', 'Wget/1.21', 'Mozilla/5.0 (X11)', 'kubectl/v1.36.0']) {
      await recorder.ask({ area: 'pretty', path: one, headers: { 'User-Agent': agent } })
    }
    const gzip = { headers: { 'Accept-Encoding': 'gzip' } }
    await askAll(
      recorder,
      'gzip',
      [one, '/api/v1/pods', '/api/v1/namespaces/bulk/configmaps'],
      gzip,
    )
    await askAll(recorder, 'routing', [
      `${matrix}/`,
      '/api/v1/namespaces//pods',
      `${matrix}/a%2Fb`,
      '/api/V1/pods',
      `${matrix}/UPPER`,
      '/api/v1/nodes/shop/x',
      '/apis/apps/v1/namespaces/shop',
      '/apis/no.such/v1/things',
      '/apis/storage.k8s.io/v1/namespaces/shop/storageclasses',
      '/api/v1/nothing',
      '/api/v2/pods',
      '/apis/apps/v1beta1/deployments',
      '/nothing',
      `${matrix}/m-a/nothing`,
      '/api/v1/watch/pods/x/y',
      '/apis/example.com/v1/nothing',
      '/apis/example.com/v9/widgets',
      `${widgets}/missing`,
    ])
    for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'TRACE', 'FOO']) {
      const path = method === 'POST' ? one : matrix
      await recorder.ask({ area: 'routing', path, method })
    }
  },
}

const asUsers: readonly string[] = [
  '/api/v1/pods',
  '/api/v1/namespaces/team-a/pods?limit=1',
  '/api/v1/namespaces/shop/pods/web-1',
  '/api/v1/nodes?limit=1',
  '/apis/example.com/v1/widgets',
  '/api',
  '/apis',
  '/version',
  '/metrics',
  '/api/v1/namespaces/shop/pods?watch=true&timeoutSeconds=1',
  '/apis/no.such/v1/things',
  '/livez',
  '/apis/apps/v1/namespaces/shop/deployments/web/scale',
  '/api/v1/namespaces/team-a/configmaps/nope',
  '/api/v1/namespaces/team-a/configmaps?fieldSelector=metadata.name%3Donly-this',
]

export const access: Part = {
  name: 'access',
  what: 'what other users are told: 401 and 403',
  async ask(recorder) {
    for (const user of Object.keys(users).filter(name => name !== 'admin') as User[]) {
      await askAll(recorder, 'auth', asUsers, { user })
      await recorder.ask({ area: 'auth', path: one, method: 'DELETE', user })
    }
  },
}
