/** The worked example of docs/SIDECAR.md: what its files make fits together, and is applied to our
 *  own server as a user applies it. */

import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { load } from '../../lib/cli/commands/command-line.ts'
import { ask, startServed } from '../support/http/served.ts'

interface Container {
  readonly name: string
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
}

interface Applied {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data: Readonly<Record<string, string>>
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[]
    readonly service: { readonly name: string; readonly namespace: string }
    readonly caBundle: string
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: {
        readonly containers: readonly Container[]
        readonly volumes: readonly { readonly secret?: { readonly secretName: string } }[]
      }
    }
  }
}

const source = 'deploy/kubernetes'
const isThere = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args).error === undefined
const hasOpenssl = isThere('openssl', 'version')
const skip =
  !hasOpenssl || !isThere('kubectl', 'version', '--client') ? 'no openssl, kubectl' : false

t.test('certificates.sh makes what both servers need', { skip: !hasOpenssl }, async t => {
  const { certs, authority } = withCertificates(t)
  const server = new X509Certificate(readFileSync(join(certs, 'server.crt')))
  t.equal(server.checkHost('api.extension.svc'), 'api.extension.svc', 'for the aggregator')
  t.equal(server.checkIP('127.0.0.1'), '127.0.0.1', 'for Watchglass')
  t.ok(server.verify(server.publicKey), 'the aggregator trusts the certificate itself')
  const shown = new X509Certificate(readFileSync(join(certs, 'front-proxy.crt')))
  t.equal(shown.subject, 'CN=front-proxy-client', 'the name that kubeadm allows')
  t.ok(shown.verify(authority.publicKey))
})

t.test('what is applied fits together, and is accepted without a warning', { skip }, async t => {
  const { folder, certs } = withCertificates(t)
  const objects = rendered(join(folder, 'sample-apiserver'))
  const find = (kind: string, name: string): Applied =>
    objects.find(one => one.kind === kind && one.metadata.name === name)!
  const { template } = find('Deployment', 'extension-apiserver').spec
  const { containers, volumes } = template.spec
  t.strictSame(containers.map(({ name }) => name).toSorted(), [
    'etcd',
    'sample-apiserver',
    'watchglass',
  ])
  const named = (name: string): Container => containers.find(one => one.name === name)!
  const invocation = load(named('watchglass').args, {})
  if (invocation.kind !== 'run') throw new Error('the container runs nothing')
  const { values } = invocation
  const server = named('sample-apiserver').args
  t.ok(server.includes(`--etcd-servers=${values.text('etcd')}`), 'both have the same etcd')
  const { hostname, port } = new URL(values.text('upstream')!)
  t.ok(server.includes(`--bind-address=${hostname}`))
  t.ok(server.includes(`--secure-port=${port}`))
  for (const { secret } of volumes) if (secret) t.ok(find('Secret', secret.secretName))

  const service = find('Service', 'api')
  const [label = ['', '']] = Object.entries(service.spec.selector)
  t.equal(template.metadata.labels[label[0]], label[1], 'the Service selects the pod')
  const [{ targetPort } = { targetPort: '' }] = service.spec.ports
  const listening = named('watchglass').ports!.find(({ name }) => name === targetPort)
  t.equal(new URL(values.text('listen')!).port, String(listening?.containerPort))
  const certificate = readFileSync(join(certs, 'server.crt'), 'utf8')
  for (const version of ['v1alpha1', 'v1beta1']) {
    const { spec } = find('APIService', `${version}.wardle.example.com`)
    t.match(service.metadata, spec.service)
    t.equal(Buffer.from(spec.caBundle, 'base64').toString(), certificate)
  }
  await applyAll(t, objects)
})

/** A copy of the manifests, with certificates signed by a new authority. */
function withCertificates(t: Test): {
  readonly folder: string
  readonly certs: string
  readonly authority: X509Certificate
} {
  const folder = t.testdir()
  for (const name of ['sample-apiserver', 'sidecar']) {
    cpSync(join(source, name), join(folder, name), {
      recursive: true,
      filter: path => !path.includes('certs'),
    })
  }
  const [cert, key] = [join(folder, 'ca.crt'), join(folder, 'ca.key')]
  const asked = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=front-proxy-ca']
  const quiet = { stdio: 'ignore' } as const
  execFileSync('openssl', ['req', ...asked, '-keyout', key, '-out', cert], quiet)
  const example = join(folder, 'sample-apiserver')
  execFileSync(join(example, 'certificates.sh'), [cert, key], quiet)
  return {
    folder,
    certs: join(example, 'certs'),
    authority: new X509Certificate(readFileSync(cert)),
  }
}

function rendered(folder: string): readonly Applied[] {
  const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
  return parseAllDocuments(text).map(document => document.toJS() as Applied)
}

const plurals: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' }

async function applyAll(t: Test, objects: readonly Applied[]): Promise<void> {
  const { service } = await startServed(t, { isWritable: true, hasControllers: true })
  await service.ready
  const system = JSON.stringify({ metadata: { name: 'kube-system' } })
  const headers = { 'content-type': 'application/json' }
  await ask(service.port, { method: 'POST', path: '/api/v1/namespaces', headers, body: system })
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const inside = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
    const plural = plurals[kind] ?? `${kind.toLowerCase()}s`
    const query = 'fieldManager=test&fieldValidation=Strict'
    const answer = await ask(service.port, {
      method: 'PATCH',
      path: `${root}${inside}/${plural}/${metadata.name}?${query}`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(object),
    })
    t.equal(answer.status, 201, `${kind} ${metadata.name}: ${answer.body.toString()}`)
    t.equal(answer.headers['warning'], undefined)
  }
}
