/** Certificates of users: of each cluster's own authorities, as if its server were alone. */

import { readFileSync } from 'node:fs'
import * as https from 'node:https'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import {
  startFleet,
  type StartedFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../../../support/fleet/started-fleet.ts'
import { freePort } from '../../../support/program/ports.ts'

const certs = resolve('test/support/certs')
const file = (name: string): string => readFileSync(`${certs}/${name}`, 'utf8')
const review = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'

/** Clusters whose users another authority signs for each, and one whose users have tokens only. */
async function start(t: Test): Promise<StartedFleet> {
  const folder = temporaryFolder(t)
  const { endpoint } = await startSharedEtcd(t, await freePort())
  write(folder, 'tokens.csv', 't,ann,uid,"system:masters"\n')
  write(
    folder,
    'clusters.yaml',
    `clusters:
- {name: red, client-ca: ${certs}/ca.pem, token-auth-file: tokens.csv}
- {name: green, client-ca: ${certs}/proxies-ca.pem, token-auth-file: tokens.csv}
- {name: blue, token-auth-file: tokens.csv}
`,
  )
  return startFleet(t, folder, {
    clusters: 'clusters.yaml',
    listen: 'https://127.0.0.1:0',
    args: [
      '--tls-cert',
      `${certs}/server.pem`,
      '--tls-key',
      `${certs}/server.key`,
      '--etcd',
      endpoint,
      '--prefix',
      '/{cluster}',
      '--writable',
      '--auth',
      'rbac',
    ],
  })
}

interface Shown {
  readonly certificate?: string | undefined
  readonly token?: string | undefined
}

/** The status, and the user whom the cluster takes the sender for. */
function whoAmI(port: number, name: string, { certificate, token }: Shown): Promise<string> {
  return new Promise((done, fail) => {
    const request = https.request(
      {
        port,
        method: 'POST',
        path: `/clusters/${name}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
        agent: false,
        ca: file('ca.pem'),
        ...(certificate === undefined
          ? {}
          : { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }),
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      },
      response => {
        let body = ''
        response.on('data', piece => (body += String(piece)))
        response.on('end', () => {
          const [, user, refused = ''] =
            /"username":"([^"]*)"|User \\"([^"\\]*)\\" cannot/.exec(body) ?? []
          done(`${response.statusCode} ${user ?? refused}`.trim())
        })
      },
    )
    request.on('error', fail)
    request.end(review)
  })
}

function health(port: number, name: string, certificate: string): Promise<number | undefined> {
  return new Promise((done, fail) => {
    const credentials = { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }
    const path = `/clusters/${name}/readyz`
    https
      .get({ port, path, agent: false, ca: file('ca.pem'), ...credentials }, response => {
        response.resume()
        response.on('end', () => done(response.statusCode))
      })
      .on('error', fail)
  })
}

t.test(
  'a certificate of another authority is refused, and none says anything where there is none',
  async t => {
    const { port } = await start(t)
    for (const name of ['red', 'green', 'blue']) {
      t.equal(await whoAmI(port, name, { token: 't' }), '201 ann', 'a token wakes it')
    }
    // As by kube-apiserver: x509 fails, and no anonymous user comes of that, unless a token
    // succeeds.
    const rows: readonly (readonly [
      name: string,
      certificate: string | undefined,
      expected: string,
    ])[] = [
      ['red', 'client', '403 alice'],
      ['red', 'front-proxy', '401'],
      ['red', 'false-proxy', '401'],
      ['red', undefined, '403 system:anonymous'],
      ['green', 'client', '401'],
      ['green', 'front-proxy', '403 front-proxy'],
      ['green', 'false-proxy', '401'],
      // A server without authorities asks for no certificate.
      ['blue', 'client', '403 system:anonymous'],
      ['blue', 'front-proxy', '403 system:anonymous'],
      ['blue', 'false-proxy', '403 system:anonymous'],
    ]
    for (const [name, certificate, expected] of rows) {
      const what = `${name} with ${certificate}`
      t.equal(await whoAmI(port, name, { certificate }), expected, what)
      const isSomebody = !/401|anonymous/.test(expected)
      const withToken = isSomebody ? expected : '201 ann'
      t.equal(
        await whoAmI(port, name, { certificate, token: 't' }),
        withToken,
        `${what} and a token`,
      )
      const withWrong = isSomebody ? expected : '401'
      t.equal(
        await whoAmI(port, name, { certificate, token: 'x' }),
        withWrong,
        `${what}, wrong token`,
      )
      if (certificate === undefined) continue
      t.equal(
        await health(port, name, certificate),
        expected === '401' ? 401 : 200,
        `${what}: health`,
      )
    }
  },
)

t.test('a certificate wakes the cluster that knows it, and no other', async t => {
  const { fleet, port } = await start(t)
  const states = (): string => fleet.clusters.map(({ name, state }) => `${name} ${state}`).join()
  t.equal(await whoAmI(port, 'green', { certificate: 'client' }), '401')
  t.equal(await whoAmI(port, 'blue', { certificate: 'client' }), '401')
  t.equal(await whoAmI(port, 'red', { certificate: 'false-proxy' }), '401')
  t.equal(states(), 'blue idle,green idle,red idle')
  t.equal(await whoAmI(port, 'red', { certificate: 'client' }), '403 alice')
  t.equal(states(), 'blue idle,green idle,red awake')
})
