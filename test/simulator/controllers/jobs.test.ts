/** Jobs over plain objects: what is written is done, and the job is looked at until nothing is left
 *  to write. */

import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { JobBackoffs } from '../../../lib/simulator/controllers/job-backoff.ts'
import { reconcileJob } from '../../../lib/simulator/controllers/jobs.ts'
import { podFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Job } from '../../../lib/simulator/runtime/job.ts'
import type { Pod } from '../../../lib/simulator/runtime/objects.ts'
import type { Write } from '../../../lib/simulator/runtime/reconcile-result.ts'

const key = keyFromText('/registry/jobs/default/work')
const startMs = Date.parse('2026-01-01T00:00:00Z')
const tracking = 'batch.kubernetes.io/job-tracking'

function merged(target: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = { ...(target as object) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}

class World {
  job: Job
  nowMs = startMs
  againMs: number | undefined
  readonly pods = new Map<Key, Pod>()
  readonly notes: string[] = []
  readonly #backoffs = new JobBackoffs()

  constructor(spec: Partial<Job['spec']>) {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c' }] } }
    const selector = { matchLabels: { job: 'work' } }
    const metadata = { name: 'work', namespace: 'default', uid: 'j', generation: 1 }
    const labelled = { ...template, metadata: { labels: selector.matchLabels } }
    this.job = { metadata, spec: { completions: 1, ...spec, selector, template: labelled } }
  }

  get status(): NonNullable<Job['status']> {
    return this.job.status ?? {}
  }

  get live(): Pod[] {
    return [...this.pods.values()].filter(({ status }) => status?.phase === 'Running')
  }

  conditions(): string[] {
    return (this.status.conditions ?? []).map(one => `${one.type}=${one.status} ${one.reason}`)
  }

  look(): this {
    for (let left = 20; left > 0; left--) {
      const { nowMs, job, pods } = this
      const owned = [...pods].map(([at, pod], i) => podFact(at, i, pod))
      const now = new Date(nowMs).toISOString()
      const failures = this.#backoffs.noted(job, owned)
      const seen = { key, object: job, now, nowMs, owned, orphans: [], failures }
      const { writes, notes = [], againMs } = reconcileJob(seen)
      this.againMs = againMs
      writes.forEach(write => this.#write(write))
      for (const { type = 'Normal', reason, message } of notes) {
        this.notes.push(`${type} ${reason}: ${message}`)
      }
      if (writes.length === 0) return this
    }
    throw new Error('a job is never done')
  }

  /** A pod ends now, the oldest that runs if none is named. */
  end(phase: 'Succeeded' | 'Failed', exitCode = 1, pod = this.live[0]): this {
    const [at] = [...this.pods].find(([, one]) => one === pod) ?? []
    if (at === undefined) throw new Error('no pod runs')
    const finishedAt = new Date(this.nowMs).toISOString()
    const terminated = { exitCode: phase === 'Succeeded' ? 0 : exitCode, finishedAt }
    const status = { phase, containerStatuses: [{ name: 'c', state: { terminated } }] }
    this.pods.set(at, merged(this.pods.get(at), { status }) as Pod)
    return this.look()
  }

  /** Deleted pods are gone: their grace period is over. */
  collect(): this {
    for (const [at, { metadata }] of this.pods) {
      const isHeld = (metadata.finalizers?.length ?? 0) > 0
      if (metadata.deletionTimestamp !== undefined && !isHeld) this.pods.delete(at)
    }
    return this.look()
  }

  later(seconds: number): this {
    this.nowMs += seconds * 1_000
    return this.look()
  }

  #write(write: Write): void {
    if (write.type === 'create') {
      const made = write.object as Pod & { metadata: { generateName: string } }
      const name = `${made.metadata.generateName}${this.pods.size}`
      const metadata = { ...made.metadata, name, uid: name }
      const at = keyFromText(`/registry/pods/default/${name}`)
      this.pods.set(at, { ...made, metadata, status: { phase: 'Running' } })
    } else if (write.type === 'delete') {
      const deletionTimestamp = new Date(this.nowMs).toISOString()
      this.pods.set(
        write.key,
        merged(this.pods.get(write.key), { metadata: { deletionTimestamp } }) as Pod,
      )
    } else if (write.type === 'patch') {
      if (write.key === key) this.job = merged(this.job, write.patch) as Job
      else this.pods.set(write.key, merged(this.pods.get(write.key), write.patch) as Pod)
    }
  }
}

t.test('a job completes in two steps, and leaves no pod uncounted', async t => {
  const world = new World({ parallelism: 2, completions: 2 }).look()
  t.match(world.status, { active: 2, ready: 0, terminating: 0 })
  t.ok(world.live.every(({ metadata }) => metadata.finalizers?.includes(tracking)))
  world.end('Succeeded').end('Succeeded')
  t.same(world.conditions(), [
    'SuccessCriteriaMet=True CompletionsReached',
    'Complete=True CompletionsReached',
  ])
  t.match(world.status, { succeeded: 2, uncountedTerminatedPods: {}, completionTime: String })
  t.same(world.status.uncountedTerminatedPods, {})
  t.notOk([...world.pods.values()].some(({ metadata }) => metadata.finalizers?.length))
  t.same(world.notes, ['Normal Completed: Job completed'])
})

t.test('a failed pod is replaced after a pause that doubles, up to the limit', async t => {
  const world = new World({ backoffLimit: 1 }).look().end('Failed')
  t.equal(world.live.length, 0)
  t.equal(world.againMs, 10_000)
  world.later(10)
  t.equal(world.live.length, 1)
  world.end('Failed')
  t.match(world.status, { failed: 2, uncountedTerminatedPods: {} })
  t.same(world.conditions(), [
    'FailureTarget=True BackoffLimitExceeded',
    'Failed=True BackoffLimitExceeded',
  ])
  t.equal(world.status.completionTime, undefined)
  t.same(world.notes, ['Warning BackoffLimitExceeded: Job has reached the specified backoff limit'])
  const patient = new World({ backoffLimit: 5 }).look().end('Failed').later(10).end('Failed')
  t.equal(patient.againMs, 20_000)
})

t.test('pods of a job that has failed go before it is Failed', async t => {
  const world = new World({ parallelism: 3, completions: 3, backoffLimit: 0 }).look()
  world.end('Failed')
  t.same(world.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
  t.match(world.status, { failed: 3, terminating: 2 })
  t.equal(world.status.active, undefined)
  world.collect()
  t.same(world.conditions().at(-1), 'Failed=True BackoffLimitExceeded')
  t.match(world.status, { failed: 3, terminating: 0 })
})

t.test('a job that is active for longer than it may fails', async t => {
  const world = new World({ activeDeadlineSeconds: 5 }).look()
  t.equal(world.againMs, 5_000)
  world.later(5).collect()
  t.same(world.conditions(), [
    'FailureTarget=True DeadlineExceeded',
    'Failed=True DeadlineExceeded',
  ])
  t.same(world.notes, ['Warning DeadlineExceeded: Job was active longer than specified deadline'])
})

t.test('containers that are restarted in place count towards the limit', async t => {
  const world = new World({ backoffLimit: 2 }).look()
  const template = { spec: { ...world.job.spec.template.spec, restartPolicy: 'OnFailure' } }
  world.job = { ...world.job, spec: { ...world.job.spec, template } }
  for (const [at, pod] of world.pods) {
    const containerStatuses = [{ name: 'c', restartCount: 2 }]
    world.pods.set(at, { ...pod, status: { phase: 'Running', containerStatuses } })
  }
  world.look()
  t.same(world.conditions(), ['FailureTarget=True BackoffLimitExceeded'])
})

t.test('a pod failure policy ignores a failure, or ends the job', async t => {
  const rules = [
    { action: 'Ignore', onExitCodes: { operator: 'In', values: [42] } },
    { action: 'FailJob', onExitCodes: { containerName: 'c', operator: 'NotIn', values: [1, 42] } },
  ]
  const world = new World({ backoffLimit: 0, podFailurePolicy: { rules } }).look()
  world.end('Failed', 42)
  t.equal(world.status.failed, undefined)
  t.same(world.conditions(), [])
  const [{ metadata }] = world.later(10).live as [Pod]
  world.end('Failed', 7)
  t.same(world.conditions(), [
    'FailureTarget=True PodFailurePolicy',
    'Failed=True PodFailurePolicy',
  ])
  t.same(world.notes, [
    `Warning PodFailurePolicy: Container c for pod default/${metadata.name} failed with exit code 7 matching FailJob rule at index 1`,
  ])
})

t.test('a job that is suspended has no pods, and starts anew', async t => {
  const world = new World({ suspend: true }).look()
  t.same(world.conditions(), ['Suspended=True JobSuspended'])
  t.equal(world.status.startTime, undefined)
  world.job = { ...world.job, spec: { ...world.job.spec, suspend: false } }
  world.later(60)
  t.same(world.conditions(), ['Suspended=False JobResumed'])
  t.equal(world.status.startTime, '2026-01-01T00:01:00.000Z')
  world.job = { ...world.job, spec: { ...world.job.spec, suspend: true } }
  world.look().collect()
  t.equal(world.pods.size, 0)
  t.match(world.status, { terminating: 0 })
  t.equal(world.status.failed, undefined)
  t.same(world.notes, [
    'Normal Suspended: Job suspended',
    'Normal Resumed: Job resumed',
    'Normal Suspended: Job suspended',
  ])
})

t.test('pods of an Indexed job know their index', async t => {
  const spec = { completionMode: 'Indexed', completions: 4, parallelism: 4 }
  const world = new World(spec).look()
  const [, second] = world.live
  const index = { 'batch.kubernetes.io/job-completion-index': '1' }
  const fieldPath = "metadata.labels['batch.kubernetes.io/job-completion-index']"
  t.match(second, {
    metadata: { generateName: 'work-1-', annotations: index, labels: index },
    spec: {
      hostname: 'work-1',
      containers: [
        { env: [{ name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath } } }] },
      ],
    },
  })
  world.end('Succeeded').end('Succeeded').end('Succeeded')
  t.match(world.status, { completedIndexes: '0-2', succeeded: 3, active: 1 })
  world.end('Succeeded')
  t.match(world.status, { completedIndexes: '0-3', succeeded: 4 })
})

t.test('an index fails for itself, and the others go on', async t => {
  const world = new World({
    completionMode: 'Indexed',
    completions: 2,
    parallelism: 2,
    backoffLimit: 2 ** 31 - 1,
    backoffLimitPerIndex: 1,
  }).look()
  world.end('Failed')
  t.equal(world.live.length, 1)
  world.later(10)
  const count = 'batch.kubernetes.io/job-index-failure-count'
  const again = world.live.find(({ metadata }) => metadata.annotations?.[count] === '1')
  world.end('Failed', 1, again)
  t.match(world.status, { failedIndexes: '0', failed: 2 })
  world.end('Succeeded')
  t.match(world.status, { failedIndexes: '0', completedIndexes: '1' })
  t.same(world.conditions(), ['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes'])
  const many = new World({ ...world.job.spec, maxFailedIndexes: 0, backoffLimitPerIndex: 0 }).look()
  many.end('Failed').collect()
  t.match(many.conditions().at(-1), 'Failed=True MaxFailedIndexesExceeded')
})

t.test('a success policy ends a job early', async t => {
  const successPolicy = { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] }
  const spec = { completionMode: 'Indexed', completions: 3, parallelism: 3, successPolicy }
  const world = new World(spec).look()
  world.end('Succeeded').collect()
  t.same(world.conditions(), [
    'SuccessCriteriaMet=True SuccessPolicy',
    'Complete=True SuccessPolicy',
  ])
  t.equal(world.status.conditions?.[0]?.message, 'Matched rules at index 0')
  t.match(world.status, { succeeded: 1, completedIndexes: '0' })
  t.equal(world.status.failed, undefined)
})

t.test('a pod that is being deleted is replaced, or only once it has failed', async t => {
  const deleted = (podReplacementPolicy: string): World => {
    const world = new World({ podReplacementPolicy }).look()
    for (const [at, pod] of world.pods) {
      const metadata = { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }
      world.pods.set(at, { ...pod, metadata })
    }
    return world.later(10)
  }
  t.match(deleted('TerminatingOrFailed').status, { failed: 1, active: 1, terminating: 1 })
  const waits = deleted('Failed')
  t.equal(waits.status.failed, undefined)
  t.equal(waits.pods.size, 1)
})

t.test('a job that another controller manages is left alone', async t => {
  const world = new World({ managedBy: 'example.com/queue' }).look()
  t.equal(world.pods.size, 0)
  t.same(world.status, {})
  t.equal(new World({ managedBy: 'kubernetes.io/job-controller' }).look().pods.size, 1)
})

t.test('a job goes as long after its end as it says', async t => {
  const world = new World({ ttlSecondsAfterFinished: 30 }).look().end('Succeeded')
  t.equal(world.againMs, 30_000)
})
