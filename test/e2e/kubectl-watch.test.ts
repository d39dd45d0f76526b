/** kubectl's watches and waits against a service in this process, whose objects the test
 *  changes. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { findKubectl } from '../support/etcd/real-etcd.ts'
import { caughtUp, type Served, startServed } from '../support/http/served.ts'
import { untilWatches } from '../support/watch/watch-served.ts'

const { binary, skip } = await findKubectl()
const home = mkdtempSync(join(tmpdir(), 'watchglass-kubectl-'))

/** A running kubectl. */
class Kubectl {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  #said = ''
  #onSaid = (): void => {}

  constructor(t: { teardown(task: () => void): void }, served: Served, args: readonly string[]) {
    const address = `http://127.0.0.1:${served.service.port}`
    this.#child = spawn(binary, ['--server', address, ...args], {
      env: { PATH: process.env['PATH'] ?? '', HOME: home },
    })
    this.#exited = once(this.#child, 'exit')
    t.teardown(() => this.#child.kill())
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.on('data', (piece: Buffer) => {
        this.#said += piece.toString()
        this.#onSaid()
      })
    }
  }

  /** Resolves with all that it has said, once that matches. */
  async says(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.#said)) await new Promise<void>(resolve => (this.#onSaid = resolve))
    return this.#said
  }

  async exits(): Promise<number | null> {
    const [code] = (await this.#exited) as [number | null]
    return code
  }
}

/** Stores a pod with all the defaults that kube-apiserver would have filled in. */
async function putPod(served: Served, name: string, ready: 'True' | 'False'): Promise<void> {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      containers: [
        {
          name: 'c',
          image: 'i',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'Always',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    },
    status: {
      phase: ready === 'True' ? 'Running' : 'Pending',
      conditions: [{ type: 'Ready', status: ready }],
    },
  }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  const key = keyFromText(`/registry/pods/default/${name}`)
  const success = [{ type: 'put' as const, key, value }]
  const { header } = await served.client.txn({ compares: [], success, failure: [] })
  await caughtUp(served, header.revision)
}

async function removePod(served: Served, name: string): Promise<void> {
  const range = singleKey(keyFromText(`/registry/pods/default/${name}`))
  const success = [{ type: 'delete' as const, range }]
  await served.client.txn({ compares: [], success, failure: [] })
}

t.test('kubectl get -w shows what there is, and then what changes', { skip }, async t => {
  const served = await startServed(t)
  await putPod(served, 'one', 'False')
  const pods = new Kubectl(t, served, ['get', 'pods', '-w'])
  await pods.says(/one +\S+ +Pending/)
  await untilWatches(served, 1)
  await putPod(served, 'one', 'True')
  await pods.says(/one +\S+ +Running/)
  await putPod(served, 'two', 'True')
  await pods.says(/two +\S+ +Running/)
  const events = new Kubectl(t, served, ['get', 'pods', '-w', '--output-watch-events'])
  await events.says(/ADDED +one [^]*ADDED +two /)
  await untilWatches(served, 2)
  await removePod(served, 'two')
  const all = await events.says(/DELETED +two /)
  t.match(all, /^EVENT +NAME +READY +STATUS +RESTARTS +AGE\n/)
  t.equal(all.match(/NAME/g)?.length, 1, 'columns are told once')
  const names = new Kubectl(t, served, ['get', 'pods', '--watch-only', '-o', 'name'])
  await untilWatches(served, 3)
  await putPod(served, 'three', 'True')
  t.equal(await names.says(/\n/), 'pod/three\n')
})

t.test('kubectl wait waits for conditions, deletion and creation', { skip }, async t => {
  const served = await startServed(t)
  await putPod(served, 'one', 'False')
  const wait = (...args: string[]): Kubectl =>
    new Kubectl(t, served, ['wait', 'pod/one', '--timeout=60s', ...args])
  const ready = wait('--for=condition=Ready')
  await untilWatches(served, 1)
  await putPod(served, 'one', 'True')
  t.equal(await ready.exits(), 0)
  t.match(await ready.says(/met/), 'pod/one condition met')
  const phase = wait('--for=jsonpath={.status.phase}=Pending')
  await untilWatches(served, 1)
  await putPod(served, 'one', 'False')
  t.equal(await phase.exits(), 0)
  const gone = wait('--for=delete')
  await untilWatches(served, 1)
  await removePod(served, 'one')
  t.equal(await gone.exits(), 0)
})
