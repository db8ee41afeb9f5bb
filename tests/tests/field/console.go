// The console as Go's lib/pq uses it: CONNINFO.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	"github.com/lib/pq"
)

var tables = []string{
	"clients", "config", "databases", "lists", "mem", "pools", "servers", "sockets", "state",
	"stats", "totals", "users", "version",
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func rows(result *sql.Rows, err error) (count int) {
	must(err)
	defer result.Close()
	columns, err := result.Columns()
	must(err)
	cells := make([]interface{}, len(columns))
	for at := range cells {
		cells[at] = new(sql.NullString)
	}
	for ; result.Next(); count++ {
		must(result.Scan(cells...))
	}
	must(result.Err())
	return count
}

func use(db *sql.DB) {
	must(db.Ping())
	for _, table := range tables {
		rows(db.Query("SHOW " + table))
		show, err := db.Prepare("SHOW " + table)
		must(err)
		rows(show.Query())
		must(show.Close())
	}
	for _, readOnly := range []bool{false, true} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: readOnly})
		must(err)
		if rows(tx.Query("SHOW state")) != 3 {
			log.Panic("there are three states")
		}
		must(tx.Commit())
	}
	if _, err := db.Query("SHOW $1", "version"); err.(*pq.Error).Code != "42601" {
		log.Panic(err)
	}
	var items sql.NullInt64
	var list string
	must(db.QueryRow("SHOW lists").Scan(&list, &items))
	if list != "databases" || items.Int64 < 1 {
		log.Panic(list, items)
	}
}

func main() {
	for _, mode := range []string{"", " binary_parameters=yes"} {
		db, err := sql.Open("postgres", os.Args[1]+" sslmode=disable"+mode)
		must(err)
		use(db)
		must(db.Close())
	}
}
