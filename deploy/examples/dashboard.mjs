// What a dashboard asks for: each of its users opens a page that lists pods, nodes and deployments as tables, page by page, and then
// watches them.
// node deploy/examples/dashboard.mjs [--users N] [--seconds N] ADDRESS

import { argumentsOf } from './arguments.mjs'

const usage = `Usage: node deploy/examples/dashboard.mjs [--users N] [--seconds N] ADDRESS
Lists pods, nodes and deployments as tables, page by page, and watches them. It writes nothing.`
const { values, server } = argumentsOf(usage, {
  users: { type: 'string', default: '10', isCount: true },
  seconds: { type: 'string', default: '10', isCount: true },
})
const paths = ['/api/v1/pods', '/api/v1/nodes', '/apis/apps/v1/deployments']
const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }
const over = new AbortController()
const counts = { rows: 0, pages: 0, changes: 0, failures: 0 }

const ticks = setInterval(show, 1000)
setTimeout(() => over.abort(), Number(values.seconds) * 1000)
const users = Array.from({ length: Number(values.users) }, () => Promise.all(paths.map(follow)))
await Promise.all(users)
clearInterval(ticks)
show()

/** Lists and watches until the time is over; lists again whenever anything fails or ends. */
async function follow(path) {
  while (!over.signal.aborted) {
    try {
      await watch(path, await list(path))
    } catch {
      if (over.signal.aborted) return
      counts.failures++
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  }
}

/** Lists page by page; the resourceVersion of the list. */
async function list(path) {
  for (let token = ''; ;) {
    const query = `?limit=250${token && `&continue=${encodeURIComponent(token)}`}`
    const { metadata, rows } = await (await get(path + query)).json()
    counts.pages++
    counts.rows += rows?.length ?? 0
    token = metadata.continue ?? ''
    if (token === '') return metadata.resourceVersion
  }
}

async function watch(path, resourceVersion) {
  const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`
  const { body } = await get(path + query)
  let text = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split('\n')
    text = lines.pop()
    for (const line of lines) {
      const { type, object } = JSON.parse(line)
      if (type === 'ERROR') throw new Error(object.message)
      if (type !== 'BOOKMARK') counts.changes++
    }
  }
}

async function get(path) {
  const response = await fetch(server + path, { headers, signal: over.signal })
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  return response
}

function show() {
  const { rows, pages, changes, failures } = counts
  process.stdout.write(`${rows} rows in ${pages} pages, ${changes} changes, ${failures} failures\n`)
}
