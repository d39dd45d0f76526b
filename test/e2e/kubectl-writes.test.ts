/** kubectl's own verbs against the program, which takes writes into its own etcd. */

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { serveHere } from '../support/program/serve-here.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-kubectl-writes-'))
const run = promisify(execFile)

const deployment = (image: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: ${image}
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1, default: 3}
              color: {type: string}
`

t.test('kubectl changes what is there by all its verbs', { skip }, async t => {
  const { address } = await serveHere(t, [])
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, KUBE_EDITOR: 'sed -i s/one/two/' }
  const failing = async (...args: string[]): Promise<string> => {
    const all = ['--server', address, ...args]
    return run(binary, all, { env }).then(
      ({ stdout }) => `no failure: ${stdout}`,
      (error: { stderr: string }) => error.stderr,
    )
  }
  const kubectl = async (...args: string[]): Promise<string> => {
    const { stdout } = await run(binary, ['--server', address, ...args], { env })
    return stdout
  }
  const value = (path: string, ...what: string[]): Promise<string> =>
    kubectl('get', ...what, '-o', `jsonpath={${path}}`)
  const file = (name: string, content: string): string => {
    const path = join(home, name)
    writeFileSync(path, content)
    return path
  }

  t.match(await kubectl('get', 'namespaces', '-o', 'name'), /namespace\/default\n/)
  t.equal(await kubectl('create', 'namespace', 'team'), 'namespace/team created\n')
  const inTeam = ['-n', 'team']

  const web = file('web.yaml', deployment('nginx:1'))
  t.equal(await kubectl('apply', ...inTeam, '-f', web), 'deployment.apps/web created\n')
  t.equal(await kubectl('apply', ...inTeam, '-f', web), 'deployment.apps/web unchanged\n')
  file('web.yaml', deployment('nginx:2'))
  t.equal(await kubectl('apply', ...inTeam, '-f', web), 'deployment.apps/web configured\n')
  t.equal(
    await kubectl('apply', ...inTeam, '--server-side', '--force-conflicts', '-f', web),
    'deployment.apps/web serverside-applied\n',
  )
  t.equal(
    await kubectl('scale', ...inTeam, 'deployment/web', '--replicas=5'),
    'deployment.apps/web scaled\n',
  )
  t.equal(await value('.spec.replicas', 'deployment/web', ...inTeam), '5')
  t.equal(await value('.metadata.generation', 'deployment/web', ...inTeam), '4')
  await kubectl('rollout', 'restart', ...inTeam, 'deployment/web')
  t.match(
    await value('.spec.template.metadata.annotations', 'deployment/web', ...inTeam),
    /restartedAt/,
  )
  await kubectl('set', 'image', ...inTeam, 'deployment/web', 'web=nginx:3')
  t.match(
    await value('.spec.template.spec.containers[0].image', 'deployment/web', ...inTeam),
    /nginx:3/,
  )

  await kubectl('create', 'configmap', ...inTeam, 'settings', '--from-literal=a=one')
  t.match(
    await failing('create', 'configmap', ...inTeam, 'settings', '--from-literal=a=one'),
    /configmaps "settings" already exists/,
  )
  t.equal(await kubectl('edit', ...inTeam, 'configmap/settings'), 'configmap/settings edited\n')
  t.equal(await value('.data.a', 'configmap/settings', ...inTeam), 'two')
  await kubectl('patch', ...inTeam, 'configmap/settings', '-p', '{"data":{"b":"x"}}')
  const jsonPatch = '[{"op":"remove","path":"/data/a"}]'
  await kubectl('patch', ...inTeam, 'configmap/settings', '--type=json', '-p', jsonPatch)
  t.equal(await value('.data', 'configmap/settings', ...inTeam), '{"b":"x"}')
  await kubectl('label', ...inTeam, 'configmap/settings', 'tier=one')
  await kubectl('annotate', ...inTeam, 'configmap/settings', 'note=first')
  t.equal(await value('.metadata.labels.tier', 'configmap/settings', ...inTeam), 'one')
  t.match(
    await failing('label', ...inTeam, 'configmap/settings', 'bad value'),
    /at least one label update is required|invalid label/,
  )
  t.match(
    await failing(
      'patch',
      ...inTeam,
      'configmap/settings',
      '-p',
      '{"metadata":{"labels":{"a":"b c"}}}',
    ),
    /metadata\.labels: Invalid value: "b c"/,
  )

  const crd = file('crd.yaml', definition)
  await kubectl('create', '-f', crd)
  await kubectl('wait', '--for=condition=Established', 'crd/gadgets.example.com', '--timeout=10s')
  const gadget = file(
    'gadget.yaml',
    'apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {color: red}\n',
  )
  t.equal(await kubectl('apply', ...inTeam, '-f', gadget), 'gadget.example.com/g created\n')
  t.equal(await value('.spec.size', 'gadget/g', ...inTeam), '3')
  t.match(
    await failing('patch', ...inTeam, 'gadget/g', '--type=merge', '-p', '{"spec":{"size":0}}'),
    /spec\.size: Invalid value: 0: spec\.size in body should be greater than or equal to 1/,
  )

  const waiting = spawn(
    binary,
    ['--server', address, 'wait', ...inTeam, '--for=delete', 'configmap/settings', '--timeout=20s'],
    { env },
  )
  const waited = new Promise<number | null>(resolve => waiting.on('exit', resolve))
  t.match(await kubectl('delete', ...inTeam, 'configmap/settings'), /"settings" deleted/)
  t.equal(await waited, 0, 'the wait for the deletion ends')
  t.match(await failing('get', ...inTeam, 'configmap/settings'), /not found/)
  await kubectl('delete', ...inTeam, 'deployments', '--all', '--wait=false')
  t.equal(await kubectl('get', ...inTeam, 'deployments', '-o', 'name'), '')
  t.match(await failing('exec', ...inTeam, 'nothing', '--', 'ls'), /not found/)
})

t.test('writes to an etcd of our own can be refused, too', { skip }, async t => {
  const { address } = await serveHere(t, ['--read-only'])
  const env = { PATH: process.env['PATH'] ?? '', HOME: home }
  const said = await run(binary, ['--server', address, 'create', 'namespace', 'x'], { env }).then(
    () => '',
    (error: { stderr: string }) => error.stderr,
  )
  t.match(said, /create of "namespaces" needs an upstream API server/)
})
