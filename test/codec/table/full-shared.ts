/** The parts that objects of several kinds share. */

/** An object of a kind, and what its Table shows a day after its creation. Its name is `x`. */
export type Row = readonly [
  apiVersion: string,
  kind: string,
  object: object,
  cells: readonly unknown[],
]

export const template: object = {
  metadata: { labels: { b: '2', a: '1' } },
  spec: {
    nodeSelector: { os: 'linux', arch: 'amd64' },
    containers: [
      { name: 'app', image: 'app:1' },
      { name: 'proxy', image: 'envoy:2' },
    ],
  },
}
export const selector: object = {
  matchLabels: { b: '2', a: '1' },
  matchExpressions: [
    { key: 'c', operator: 'In', values: ['z', 'y'] },
    { key: 'd', operator: 'NotIn', values: ['w'] },
    { key: 'e', operator: 'Exists' },
    { key: 'f', operator: 'DoesNotExist' },
  ],
}
export const selected = 'a=1,b=2,c in (y,z),d notin (w),e,!f'
export const names = 'app,proxy'
export const images = 'app:1,envoy:2'
export const day = '24h'
export const createdAt = '2026-01-01T00:00:00Z'
