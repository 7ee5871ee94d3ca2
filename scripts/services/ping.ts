/** Asks a MongoDB-compatible server for a sign of life. */
import type { mongo } from 'mongoose';

const TIMEOUT_MS = 2_000;

/** Runs administrative commands over one short-lived connection to exactly this server. */
export async function withAdmin<T>(port: number, work: (admin: mongo.Db) => Promise<T>): Promise<T> {
  // Loaded while the server starts: the start itself need not wait for it.
  const mongoose = await import('mongoose');
  const client = new mongoose.mongo.MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: TIMEOUT_MS,
    connectTimeoutMS: TIMEOUT_MS,
  });
  try {
    await client.connect();
    return await work(client.db('admin'));
  } finally {
    await client.close();
  }
}
