/** Makes the pictures of the page in the README: `npm start` with clients behind it, for a minute.
 *  `node dist/test/support/browser/write-screenshots.js` writes deploy/page-light.png and
 *  deploy/page-dark.png. */

import { writeFileSync } from 'node:fs'
import { Browser, findChromium } from './chromium.ts'
import { startProgram } from '../program/program.ts'

const ends: (() => unknown)[] = []
const stage = { teardown: (end: () => unknown): void => void ends.push(end) }

/** Clients that look like those of a cluster. */
async function use(address: string, untilMs: number): Promise<void> {
  const get = async (path: string, userAgent: string): Promise<void> => {
    const signal = AbortSignal.timeout(Math.max(1, untilMs - Date.now()))
    await fetch(`${address}${path}`, { headers: { 'user-agent': userAgent }, signal })
      .then(answer => answer.arrayBuffer())
      .catch(() => {})
  }
  const watchers: readonly (readonly [number, string, string])[] = [
    [34, 'pods', 'kubelet/v1.36.1 (linux/amd64)'],
    [3, 'pods', 'kube-controller-manager/v1.36.1 (linux/amd64)'],
    [2, 'nodes', 'kube-scheduler/v1.36.1 (linux/amd64)'],
    [1, 'services', 'coredns/v1.13'],
  ]
  for (const [count, resource, userAgent] of watchers) {
    for (let i = 0; i < count; i++) void get(`/api/v1/${resource}?watch=1`, userAgent)
  }
  const paths = [
    'pods?limit=100',
    'pods?resourceVersion=0',
    'nodes',
    'namespaces/default',
    'services',
  ]
  const readers = paths.flatMap(path => [path, path])
  await Promise.all(
    readers.map(async path => {
      while (Date.now() < untilMs) {
        await get(`/api/v1/${path}`, 'kubectl/v1.36.1')
        await new Promise(resolve => setTimeout(resolve, 40 + 160 * Math.random()))
      }
    }),
  )
}

const chromium = await findChromium()
if (chromium.skip !== false) throw new Error(chromium.skip)
try {
  const { address } = await startProgram(stage as never, [
    '--generate',
    'pods=1000',
    '--churn',
    '10/s',
  ])
  const browser = await Browser.start(stage as never, chromium)
  const using = use(address, Date.now() + 125_000)
  await new Promise(resolve => setTimeout(resolve, 118_000))
  for (const scheme of ['light', 'dark'] as const) {
    const page = await browser.open(`${address}/`, { width: 1100, height: 900, scheme })
    writeFileSync(`deploy/page-${scheme}.png`, await page.screenshot())
  }
  await using
} finally {
  for (const end of ends.toReversed()) await end()
}
