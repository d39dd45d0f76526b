/** The rules of a pod's columns, each by itself: what an object has, and which text its cell
 *  gets. The texts follow pkg/printers/internalversion/printers.go; recordings have most of
 *  them, too. */

import t from 'tap'
import { cellsOf, created } from './cells.ts'

type Row = readonly [object: object, cell: unknown]

interface Column {
  readonly kind: string
  readonly index: number
  readonly rows: readonly Row[]
}

const waiting = (reason: string): object => ({ waiting: { reason } })
const ended = (exitCode: number, more: object = {}): object => ({
  terminated: { exitCode, ...more },
})
const running = { running: {} }
const hourAgo = '2026-01-01T23:00:00Z'
const minuteAgo = '2026-01-01T23:59:00Z'
const container = (state: object, more: object = {}): object => ({ name: 'c', state, ...more })
const ready = { type: 'Ready', status: 'True' }
const pod = (status: object, more: object = {}): object => ({ status, ...more })
const withInits = (
  initContainers: object[],
  initContainerStatuses: object[],
  more: object = {},
): object => ({
  spec: { initContainers, containers: [{ name: 'c' }] },
  status: { phase: 'Pending', initContainerStatuses, ...more },
})
const sidecar = { name: 's', restartPolicy: 'Always' }
const deleted = { metadata: { name: 'x', deletionTimestamp: created } }
const condition = (type: string, status = 'True'): object => ({ type, status })

const columns: Readonly<Record<string, Column>> = {
  'STATUS of a pod': {
    kind: 'v1 Pod',
    index: 2,
    rows: [
      [pod({ phase: 'Running' }), 'Running'],
      [pod({ phase: 'Failed', reason: 'Evicted' }), 'Evicted'],
      [
        pod({
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        }),
        'SchedulingGated',
      ],
      [
        pod({ phase: 'Pending', conditions: [{ type: 'Other', reason: 'SchedulingGated' }] }),
        'Pending',
      ],
      [
        pod({ phase: 'Pending', containerStatuses: [container(waiting('ErrImagePull'))] }),
        'ErrImagePull',
      ],
      [pod({ phase: 'Pending', containerStatuses: [container(waiting(''))] }), 'Pending'],
      [
        pod({ phase: 'Failed', containerStatuses: [container(ended(1, { reason: 'Error' }))] }),
        'Error',
      ],
      [pod({ phase: 'Failed', containerStatuses: [container(ended(3))] }), 'ExitCode:3'],
      [
        pod({ phase: 'Failed', containerStatuses: [container(ended(137, { signal: 9 }))] }),
        'Signal:9',
      ],
      [
        pod({
          phase: 'Running',
          containerStatuses: [container(waiting('A')), container(waiting('B'))],
        }),
        'A',
      ],
      [
        pod({
          phase: 'Running',
          conditions: [ready],
          containerStatuses: [
            container(ended(0, { reason: 'Completed' })),
            container(running, { ready: true }),
          ],
        }),
        'Running',
      ],
      [
        pod({
          phase: 'Running',
          containerStatuses: [
            container(ended(0, { reason: 'Completed' })),
            container(running, { ready: true }),
          ],
        }),
        'NotReady',
      ],
      [
        pod({
          phase: 'Running',
          conditions: [condition('Ready', 'False')],
          containerStatuses: [
            container(ended(0, { reason: 'Completed' })),
            container(running, { ready: true }),
          ],
        }),
        'NotReady',
      ],
      [
        pod({
          phase: 'Failed',
          containerStatuses: [
            container(ended(0, { reason: 'Completed' })),
            container(ended(1, { reason: 'Error' })),
          ],
        }),
        'Error',
      ],
      [pod({ phase: 'Running' }, deleted), 'Terminating'],
      [pod({ phase: 'Running', reason: 'NodeLost' }, deleted), 'Unknown'],
      [pod({ phase: 'Succeeded' }, deleted), 'Succeeded'],
      [pod({ phase: 'Failed' }, deleted), 'Failed'],
      [withInits([{ name: 'a' }, { name: 'b' }], [{ name: 'a', state: running }]), 'Init:0/2'],
      [
        withInits(
          [{ name: 'a' }, { name: 'b' }],
          [
            { name: 'a', state: ended(0) },
            { name: 'b', state: waiting('PodInitializing') },
          ],
        ),
        'Init:1/2',
      ],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: waiting('CrashLoopBackOff') }]),
        'Init:CrashLoopBackOff',
      ],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: ended(1, { reason: 'Error' }) }]),
        'Init:Error',
      ],
      [withInits([{ name: 'a' }], [{ name: 'a', state: ended(2) }]), 'Init:ExitCode:2'],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: ended(2, { signal: 15 }) }]),
        'Init:Signal:15',
      ],
      [withInits([{ name: 'a' }], [{ name: 'a', state: ended(0) }]), 'Pending'],
      [withInits([sidecar], [{ name: 's', state: running, started: true }]), 'Pending'],
      [withInits([sidecar], [{ name: 's', state: running, started: false }]), 'Init:0/1'],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: running }], {
          conditions: [condition('Initialized')],
          containerStatuses: [container(waiting('A'))],
        }),
        'A',
      ],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: running }], {
          conditions: [condition('Initialized', 'False')],
          containerStatuses: [container(waiting('A'))],
        }),
        'Init:0/1',
      ],
    ],
  },
  'READY of a pod': {
    kind: 'v1 Pod',
    index: 1,
    rows: [
      [
        {
          spec: { containers: [{}, {}] },
          status: { containerStatuses: [container(running, { ready: true })] },
        },
        '1/2',
      ],
      [{ spec: { containers: [{}] }, status: { containerStatuses: [container(running)] } }, '0/1'],
      [
        {
          spec: { containers: [{}] },
          status: { containerStatuses: [container(waiting('A'), { ready: true })] },
        },
        '0/1',
      ],
      [withInits([sidecar], [{ name: 's', state: running, started: true, ready: true }]), '1/2'],
      [withInits([sidecar], [{ name: 's', state: running, started: true }]), '0/2'],
      [
        withInits([{ name: 's' }], [{ name: 's', state: running, started: true, ready: true }]),
        '0/1',
      ],
    ],
  },
  'RESTARTS of a pod': {
    kind: 'v1 Pod',
    index: 3,
    rows: [
      [
        pod({
          containerStatuses: [
            container(running, { restartCount: 2 }),
            container(running, { restartCount: 3 }),
          ],
        }),
        '5',
      ],
      [
        pod({
          containerStatuses: [
            container(running, { restartCount: 1, lastState: ended(1, { finishedAt: hourAgo }) }),
          ],
        }),
        '1 (60m ago)',
      ],
      [
        pod({
          containerStatuses: [
            container(running, { restartCount: 1, lastState: ended(1, { finishedAt: minuteAgo }) }),
            container(running, { restartCount: 1, lastState: ended(1, { finishedAt: hourAgo }) }),
          ],
        }),
        '2 (60s ago)',
      ],
      [
        pod({
          containerStatuses: [container(running, { lastState: ended(1, { finishedAt: hourAgo }) })],
        }),
        '0',
      ],
      [withInits([{ name: 'a' }], [{ name: 'a', state: running, restartCount: 4 }]), '4'],
      [
        withInits([{ name: 'a' }], [{ name: 'a', state: ended(0), restartCount: 4 }], {
          containerStatuses: [container(running)],
        }),
        '0',
      ],
      [
        withInits([sidecar], [{ name: 's', state: running, started: true, restartCount: 4 }], {
          containerStatuses: [container(running, { restartCount: 1 })],
        }),
        '5',
      ],
    ],
  },
  'IP of a pod': {
    kind: 'v1 Pod',
    index: 5,
    rows: [
      [pod({ podIP: '1.1.1.1', podIPs: [{ ip: '2.2.2.2' }] }), '1.1.1.1'],
      [pod({ podIPs: [{ ip: '1.1.1.1' }, { ip: '2.2.2.2' }] }), '1.1.1.1'],
      [pod({}), '<none>'],
    ],
  },
  'READINESS GATES of a pod': {
    kind: 'v1 Pod',
    index: 8,
    rows: [
      [
        {
          spec: { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
          status: { conditions: [condition('a')] },
        },
        '1/2',
      ],
      [
        {
          spec: { readinessGates: [{ conditionType: 'a' }] },
          status: { conditions: [condition('a', 'False')] },
        },
        '0/1',
      ],
      [{}, '<none>'],
    ],
  },
}

for (const [name, { kind, index, rows }] of Object.entries(columns)) {
  t.test(name, async t => {
    const [apiVersion = '', kindName = ''] = kind.split(' ')
    for (const [object, cell] of rows) {
      const metadata = 'metadata' in object ? (object.metadata as object) : { name: 'x' }
      const cells = cellsOf(apiVersion, kindName, { ...object, metadata })
      t.strictSame(cells[index], cell, JSON.stringify(object))
    }
  })
}
