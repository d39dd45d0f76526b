/** Webhooks and policies of a cluster, of which anybody who may write them may make many: what one
 *  write does for them is done in steps, shared, and bounded. */

import t from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { createAdmission } from '../../lib/writes/admission/chain.ts'
import type { HookCaller } from '../../lib/writes/admission/webhooks/caller.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { runWrite } from '../../lib/writes/operations/run-write.ts'
import type { WriteSession } from '../../lib/writes/operations/session.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import { MemoryStore, namespaceKey, writesOver } from '../support/kube/writes/memory-store.ts'

const apiVersion = 'admissionregistration.k8s.io/v1'
const rules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] },
]

class Cluster {
  readonly store = new MemoryStore()
  /** Times that work gave way: its clock says each time that it has worked for long. */
  steps = 0
  readonly #caller: HookCaller | undefined

  constructor(caller?: HookCaller) {
    this.#caller = caller
    this.put(namespaceKey, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns' } })
  }

  put(key: string, object: object): void {
    const value = protobufFromJson(Buffer.from(JSON.stringify(object))) as Uint8Array
    this.store.put(keyFromText(key), value)
  }

  putPolicy(spec: object, bindings: number, actions: readonly string[] = ['Deny']): void {
    const kind = 'ValidatingAdmissionPolicy'
    const matchConstraints = { resourceRules: rules }
    const policy = {
      apiVersion,
      kind,
      metadata: { name: 'p' },
      spec: { matchConstraints, ...spec },
    }
    this.put('/registry/validatingadmissionpolicies/p', policy)
    for (let i = 0; i < bindings; i++) {
      this.put(`/registry/validatingadmissionpolicybindings/b${i}`, {
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: `b${i}` },
        spec: { policyName: 'p', validationActions: actions },
      })
    }
  }

  /** Creates a ConfigMap, and returns the session once it is stored. */
  async create(data: object = {}): Promise<WriteSession> {
    let nowMs = 0
    const work = {
      monotonicMs: () => (nowMs += 10),
      yield: () => {
        this.steps++
        return Promise.resolve()
      },
    }
    const admission = createAdmission({
      choice: { enabled: [], disabled: ['ServiceAccount'] },
      storeOf: () => undefined,
      caller: this.#caller,
    })
    const open = writesOver(this.store, createRandom(1), work, admission)
    const session = open({ group: '', version: 'v1', resource: 'configmaps' })
    await runWrite(session, {
      verb: 'create',
      query: parseTarget('/x')!.query,
      contentType: 'application/json',
      readBody: async () => Buffer.from(JSON.stringify({ metadata: { name: 'a' }, data })),
    })
    return session
  }
}

t.test('each binding of a policy is a step of its own', async t => {
  const one = new Cluster()
  one.putPolicy({ validations: [{ expression: 'true' }] }, 1)
  await one.create()
  const many = new Cluster()
  many.putPolicy({ validations: [{ expression: 'true' }] }, 200)
  await many.create()
  t.ok(many.steps - one.steps >= 2 * 199, `${many.steps} and ${one.steps} steps`)
})

t.test('variables that name each other without end are refused, and take no stack', async t => {
  const cluster = new Cluster()
  const variables = Array.from({ length: 3_000 }, (_, i) => ({
    name: `v${i}`,
    expression: i === 0 ? '1' : `variables.v${i - 1} + 1`,
  }))
  cluster.putPolicy({ variables, validations: [{ expression: 'variables.v2999 > 0' }] }, 1)
  await t.rejects(cluster.create(), { message: /variables name each other deeper than 250/ })
  cluster.putPolicy({ variables, validations: [{ expression: 'variables.v200 == 201' }] }, 1)
  await t.resolves(cluster.create())
})

t.test('values that nest as deep as variables take them are refused, too', async t => {
  const cluster = new Cluster()
  const nested = (value: string): string => `dyn(${'['.repeat(200)}${value}${']'.repeat(200)})`
  const variables = ['a', 'b'].flatMap(name =>
    Array.from({ length: 150 }, (_, i) => ({
      name: `${name}${i}`,
      expression: i === 0 ? 'dyn(1)' : nested(`variables.${name}${i - 1}`),
    })),
  )
  for (const expression of [
    'variables.a149 == variables.b149',
    "'%s'.format([variables.a149]) != ''",
    'variables.a149.flatten(1000000).size() > 0',
    'variables.a149.sum() > 0',
  ]) {
    cluster.putPolicy({ variables, validations: [{ expression }] }, 1)
    await t.rejects(cluster.create(), { message: /nested too deeply/ }, expression)
  }
})

t.test('what policies note for the audit log is bounded', async t => {
  const cluster = new Cluster()
  const long = "'x'.replace('x', object.data.long)"
  const auditAnnotations = Array.from({ length: 200 }, (_, i) => ({
    key: `k${i}`,
    valueExpression: long,
  }))
  const validations = [{ expression: 'false', message: 'y'.repeat(100_000) }]
  cluster.putPolicy({ auditAnnotations, validations }, 1, ['Audit'])
  const { annotations } = await cluster.create({ long: 'z'.repeat(100_000) })
  t.equal(annotations.size, 100)
  t.ok([...annotations.values()].every(text => text.length <= 10_000))
})

t.test('validating webhooks share the object that they are sent', async t => {
  const sent = new Map<Buffer, number>()
  const uids = new Set<string>()
  const cluster = new Cluster({
    post: ({ body }) => {
      for (const piece of body) sent.set(piece, piece.length)
      const { request } = JSON.parse(Buffer.concat(body).toString()) as {
        request: { uid: string; object: { data: object } }
      }
      t.equal(Object.keys(request.object.data).length, 500)
      uids.add(request.uid)
      const response = { uid: request.uid, allowed: true }
      const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
      return Promise.resolve({ status: 200, body: Buffer.from(JSON.stringify(review)) })
    },
  })
  cluster.put('/registry/validatingwebhookconfigurations/h', {
    apiVersion,
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'h' },
    webhooks: Array.from({ length: 200 }, (_, i) => ({
      name: `h${i}.example.com`,
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
    })),
  })
  await cluster.create(
    Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, 'v'.repeat(20)])),
  )
  t.equal(uids.size, 200)
  const bytes = [...sent.values()].reduce((sum, length) => sum + length, 0)
  t.ok(bytes < 60_000, `${bytes} bytes in all`)
})
