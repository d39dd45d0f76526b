import t from 'tap'
import { routeOf } from '../../../../lib/cli/commands/fleet/cluster-route.ts'

interface Asked {
  readonly target: string
  readonly host?: string
  readonly serverName?: string
}

function route({ target, host, serverName }: Asked, domain?: string): unknown {
  const peer = {
    address: '',
    isSecure: serverName !== undefined,
    serverName,
    certificate: () => undefined,
    hasRefusedCertificate: () => false,
  }
  const found = routeOf({ target, headers: { host }, peer }, domain)
  return found && [found.name, found.target]
}

const paths: readonly (readonly [string, unknown])[] = [
  ['/clusters/a', ['a', '/']],
  ['/clusters/a/', ['a', '/']],
  ['/clusters/a?x=1', ['a', '/?x=1']],
  ['/clusters/a/api/v1/pods?limit=5', ['a', '/api/v1/pods?limit=5']],
  ['/clusters/a//api', ['a', '//api']],
  ['/clusters/a/clusters/b/api', ['a', '/clusters/b/api']],
  ['/clusters/a/../b/api', ['a', '/../b/api']],
  ['/clusters/..', ['..', '/']],
  ['/clusters/%61/api', ['%61', '/api']],
  ['/clusters', undefined],
  ['/clusters/', undefined],
  ['/clusters//api', undefined],
  ['/clustersa/b', undefined],
  ['//clusters/a', undefined],
  ['/api/v1/pods', undefined],
]

t.test('a path names its cluster, and nothing of it is decoded', async t => {
  for (const [target, expected] of paths) t.strictSame(route({ target }), expected, target)
})

t.test('a host or a TLS server name below the domain names its cluster', async t => {
  const domain = 'clusters.example.com'
  const target = '/api/v1/pods'
  const at = (host?: string, serverName?: string): unknown =>
    route({ target, ...(host && { host }), ...(serverName && { serverName }) }, domain)
  t.strictSame(at('a.clusters.example.com'), ['a', target])
  t.strictSame(at('A.Clusters.Example.com:6443'), ['a', target])
  t.strictSame(at('10.0.0.1:6443', 'b.clusters.example.com'), ['b', target])
  t.strictSame(at('a.clusters.example.com', 'b.clusters.example.com'), ['a', target], 'the header')
  t.equal(at('clusters.example.com'), undefined)
  t.equal(at('a.b.clusters.example.com'), undefined)
  t.equal(at('aclusters.example.com'), undefined)
  t.equal(at('.clusters.example.com'), undefined)
  t.equal(route({ target, host: 'a.clusters.example.com' }), undefined, 'no domain was given')
})
