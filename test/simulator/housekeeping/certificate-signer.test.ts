import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as https from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { Callers } from '../../../lib/cache/http/auth/callers.ts'
import { authoritiesOf } from '../../../lib/cache/http/server/authorities.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { rbacOf } from '../../support/http/rbac.ts'
import { startServed } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'

const certs = 'test/support/certs'
const pem = (name: string): string => readFileSync(`${certs}/${name}`).toString()
const group = 'certificates.k8s.io/v1'
const path = `/apis/${group}/certificatesigningrequests`

interface SigningRequest {
  readonly status: {
    readonly certificate?: string
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[]
  }
}

t.test('an approved request is signed, and its holder is a user of the server', async t => {
  const authorities = authoritiesOf(pem('ca.pem'))
  const callers = new Callers({
    clock: systemClock,
    userAuthorities: () => authorities,
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  const { service } = await startServed(t, {
    isWritable: true,
    hasControllers: true,
    basics: { rootAuthority: 'none' },
    access: { ...rbacOf('admin,root,,system:masters'), callers },
    signing: { cert: pem('ca.pem'), key: pem('ca.key') },
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: {
      certFile: `${certs}/server.pem`,
      keyFile: `${certs}/server.key`,
      authorities: () => [pem('ca.pem')],
    },
  })
  await service.ready
  const send = (
    method: string,
    path: string,
    { body, ...credentials }: { readonly body?: object; cert?: string; key?: string } = {},
  ): Promise<string> =>
    new Promise((resolve, reject) => {
      const authorization = credentials.cert === undefined ? { authorization: 'Bearer admin' } : {}
      const request = https.request(
        {
          port: service.port,
          method,
          path,
          agent: false,
          ca: pem('ca.pem'),
          ...credentials,
          headers: { 'content-type': 'application/json', ...authorization },
        },
        response => {
          let text = ''
          response.on('data', piece => (text += String(piece)))
          response.on('end', () => resolve(text))
        },
      )
      request.on('error', reject)
      request.end(body && JSON.stringify(body))
    })
  const read = async (name: string): Promise<SigningRequest> =>
    JSON.parse(await send('GET', `${path}/${name}`)) as SigningRequest
  const ask = async (name: string, usages: readonly string[]): Promise<string> => {
    const keyFile = join(t.testdirName, `${name}.key`)
    const request = execFileSync(
      'openssl',
      [
        'req',
        '-new',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        keyFile,
        '-subj',
        `/O=dev/CN=${name}`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const body = {
      metadata: { name },
      spec: {
        request: request.toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages,
        expirationSeconds: 3600,
      },
    }
    await send('POST', path, { body })
    return readFileSync(keyFile).toString()
  }
  /** As `kubectl certificate approve|deny` does it. */
  const decide = async (name: string, type: 'Approved' | 'Denied'): Promise<void> => {
    const object = await read(name)
    const condition = { type, status: 'True', reason: 'Kubectl', message: 'by hand' }
    const status = { ...object.status, conditions: [condition] }
    await send('PUT', `${path}/${name}/approval`, { body: { ...object, status } })
  }
  t.testdir()
  const key = await ask('ann', ['client auth', 'digital signature'])
  await ask('wrong', ['server auth'])
  await ask('denied', ['client auth'])
  await decide('denied', 'Denied')
  await decide('wrong', 'Approved')
  await decide('ann', 'Approved')
  while ((await read('ann')).status.certificate === undefined) await moment()
  const cert = Buffer.from((await read('ann')).status.certificate ?? '', 'base64').toString()
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const who = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  t.match(await send('POST', who, { body: review, cert, key }), /"username":"ann".*"dev"/)
  const isFailed = async (): Promise<boolean> =>
    (await read('wrong')).status.conditions?.at(-1)?.type === 'Failed'
  while (!(await isFailed())) await moment()
  t.match((await read('wrong')).status, {
    conditions: [
      { type: 'Approved' },
      {
        status: 'True',
        reason: 'SignerValidationFailure',
        message: 'invalid usage for client certificate: server auth',
      },
    ],
  })
  t.equal((await read('wrong')).status.certificate, undefined)
  // The one that was denied first has been looked at before these.
  t.equal((await read('denied')).status.certificate, undefined)
})
