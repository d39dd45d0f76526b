/** The requests of clients, made from what a server holds, so that any server can be asked. */

import type { RequestHeaders } from '../list/http1-client.ts'
import { type Shape, shapes } from './shapes.ts'

const json: RequestHeaders = { accept: 'application/json' }
const table: RequestHeaders = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

/** So many objects, pages and nodes are asked for in turn. */
const turns = 8

export interface Question {
  readonly name: string
  /** Asked in turn. */
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
  readonly shapes: readonly Shape[]
}

interface PodList {
  readonly metadata: { readonly continue?: string }
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace: string }
    readonly spec: { readonly nodeName?: string }
  }[]
}

export type Get = (path: string, headers: RequestHeaders) => Promise<Buffer>

export async function questionsOf(get: Get): Promise<Question[]> {
  const pages: string[] = []
  const first = '/api/v1/pods?limit=100'
  const gets: string[] = []
  const nodes = new Set<string>()
  for (let path: string | undefined = first; path !== undefined && pages.length < turns;) {
    const list = JSON.parse((await get(path, json)).toString()) as PodList
    pages.push(path)
    for (const { metadata, spec } of list.items) {
      if (gets.length < turns) {
        gets.push(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`)
      }
      if (spec.nodeName !== undefined && nodes.size < turns) nodes.add(spec.nodeName)
    }
    const token = list.metadata.continue ?? ''
    path = token === '' ? undefined : `${first}&continue=${encodeURIComponent(token)}`
  }
  if (gets.length === 0 || nodes.size === 0) throw new Error('there are no pods to ask for')
  const anyRevision = gets.map(path => `${path}?resourceVersion=0`)
  const selected = [...nodes].map(node => `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`)
  return [
    { name: 'get', paths: gets, headers: json, shapes },
    { name: 'get at any revision', paths: anyRevision, headers: json, shapes },
    { name: 'pods of a node', paths: selected, headers: json, shapes },
    { name: 'page of 100', paths: pages, headers: json, shapes },
    { name: 'page of 100, Table', paths: pages, headers: table, shapes },
    // Of whole lists 500 at once would measure memory and not the server.
    {
      name: 'whole list',
      paths: ['/api/v1/pods?resourceVersion=0'],
      headers: json,
      shapes: shapes.filter(({ clients, streams }) => clients * streams <= 64),
    },
  ]
}
