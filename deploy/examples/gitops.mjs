// What a GitOps tool asks for: every commit is applied server-side, what the commit no longer has is pruned by its label, and a watch
// by that label tells when everything is as the commit wants it.
// node deploy/examples/gitops.mjs [--apps N] [--commits N] ADDRESS

import { argumentsOf } from './arguments.mjs'

const usage = `Usage: node deploy/examples/gitops.mjs [--apps N] [--commits N] ADDRESS
Applies and prunes ConfigMaps, Services and Deployments in the namespace default.`
const { values, server } = argumentsOf(usage, {
  apps: { type: 'string', default: '20', isCount: true },
  commits: { type: 'string', default: '3', isCount: true },
})
const label = 'example.com/managed-by=gitops'
const [key, value] = label.split('=')
const annotation = 'example.com/commit'
const resources = { ConfigMap: '/api/v1', Service: '/api/v1', Deployment: '/apis/apps/v1' }
let retries = 0

for (let commit = 1; commit <= Number(values.commits); commit++) {
  const began = performance.now()
  const manifests = manifestsOf(commit)
  const watching = watchFor(commit, manifests)
  for (const manifest of manifests) await apply(manifest)
  const pruned = await prune(new Set(manifests.map(idOf)))
  await watching
  const ms = Math.round(performance.now() - began)
  process.stdout.write(
    `commit ${commit}: ${manifests.length} applied, ${pruned} pruned, ${retries} retries, ${ms} ms\n`,
  )
}

/** The contents of the repository: each commit changes all apps, drops the oldest and adds one. */
function manifestsOf(commit) {
  return Array.from({ length: Number(values.apps) }, (_, i) => `app-${commit + i}`).flatMap(
    name => {
      const annotations = { [annotation]: String(commit) }
      const metadata = { name, namespace: 'default', labels: { [key]: value }, annotations }
      const labels = { app: name }
      const containers = [{ name: 'web', image: `example.com/web:${commit}` }]
      const template = { metadata: { labels }, spec: { containers } }
      return [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { commit: String(commit) } },
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata,
          spec: { selector: labels, ports: [{ port: 80 }] },
        },
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata,
          spec: { replicas: 1, selector: { matchLabels: labels }, template },
        },
      ]
    },
  )
}

async function apply(manifest) {
  const path = `${collection(manifest.kind)}/${manifest.metadata.name}?fieldManager=gitops&force=true`
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  // JSON is YAML.
  await send(path, { method: 'PATCH', headers, body: JSON.stringify(manifest) })
}

/** Deletes what carries the label and is not wanted; how much that was. */
async function prune(wanted) {
  let pruned = 0
  for (const kind of Object.keys(resources)) {
    const path = `${collection(kind)}?labelSelector=${encodeURIComponent(label)}`
    const { items } = await (await send(path, {})).json()
    for (const { metadata } of items) {
      if (wanted.has(idOf({ kind, metadata }))) continue
      await send(`${collection(kind)}/${metadata.name}`, { method: 'DELETE' })
      pruned++
    }
  }
  return pruned
}

/** Lists and watches until the Deployments are those of the commit. */
async function watchFor(commit, manifests) {
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
  const wanted = new Set(deployments.map(({ metadata }) => metadata.name))
  const see = ({ metadata }) => {
    if (metadata.annotations?.[annotation] === String(commit)) wanted.delete(metadata.name)
  }
  const path = `${collection('Deployment')}?labelSelector=${encodeURIComponent(label)}`
  // A watch that ends, however that is, is followed by a list.
  while (wanted.size > 0) {
    const { metadata, items } = await (await send(path, {})).json()
    items.forEach(see)
    if (wanted.size === 0) return
    const query = `&watch=true&timeoutSeconds=5&resourceVersion=${metadata.resourceVersion}`
    const { body } = await send(path + query, {})
    let text = ''
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        const lines = (text + chunk).split('\n')
        text = lines.pop()
        for (const line of lines) {
          const { type, object } = JSON.parse(line)
          if (type === 'ADDED' || type === 'MODIFIED') see(object)
        }
        if (wanted.size === 0) return
      }
    } catch {
      retries++
    }
  }
}

/** Sends a request until it is answered; what is wrong with the request itself ends the program. */
async function send(path, init) {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(server + path, init).catch(() => undefined)
    if (response?.ok || (response?.status === 404 && init.method === 'DELETE')) return response
    const status = response?.status ?? 500
    if (attempt === 10 || (status < 500 && status !== 429 && status !== 409)) {
      throw new Error(`${init.method ?? 'GET'} ${path}: ${await response?.text()}`)
    }
    retries++
    const asked = Number(response?.headers.get('retry-after') ?? 0) * 1000
    await new Promise(resolve => setTimeout(resolve, Math.max(asked, 50 * 2 ** attempt)))
  }
}

function collection(kind) {
  return `${resources[kind]}/namespaces/default/${kind.toLowerCase()}s`
}

function idOf({ kind, metadata }) {
  return `${kind}/${metadata.name}`
}
