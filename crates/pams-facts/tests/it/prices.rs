//! Real prices from tables as people have them.

use pams_facts::{ErrorKind, Prices};

#[track_caller]
fn read(text: &str, column: Option<&str>) -> (String, Vec<f64>) {
    let prices = Prices::from_csv(text, column).expect("prices");
    (prices.column, prices.values)
}

#[track_caller]
fn refused(text: &str, column: Option<&str>) -> String {
    let error = Prices::from_csv(text, column).expect_err("no prices");
    assert_eq!(error.kind(), ErrorKind::Prices);
    error.to_string()
}

#[test]
fn one_column_with_and_without_a_name() {
    assert_eq!(read("100\n101.5\n", None), ("1".to_owned(), vec![100.0, 101.5]));
    assert_eq!(
        read("\u{feff}nikkei\r\n100\r\n101.5", None),
        ("nikkei".to_owned(), vec![100.0, 101.5])
    );
}

#[test]
fn the_usual_names() {
    let table = "Date,Open,Close,Adj Close,Volume\n2024-01-02,1,2,3,4\n2024-01-03,5,6,7,8\n";
    assert_eq!(read(table, None), ("Adj Close".to_owned(), vec![3.0, 7.0]));
    assert_eq!(read(table, Some("close")), ("Close".to_owned(), vec![2.0, 6.0]));
    assert_eq!(read(table, Some("2")), ("Open".to_owned(), vec![1.0, 5.0]));
    assert_eq!(read("\"a, b\",price\n\"1,2\",3\n", None), ("price".to_owned(), vec![3.0]));
}

#[test]
fn missing_prices() {
    let (_, values) = read("Close\n1\n.\nNaN\n2\n", None);
    assert_eq!(values.len(), 4);
    assert!(values[1].is_nan() && values[2].is_nan());
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(refused("", None), "the table of prices is empty");
    assert_eq!(
        refused("a,b\n1,2\n", None),
        "it is not clear which column has the prices; name one of: a, b"
    );
    assert_eq!(
        refused("a,b\n1,2\n", Some("c")),
        "there is no column `c` of prices; there are: a, b"
    );
    assert_eq!(
        refused("a,b\n1,2\n", Some("3")),
        "there is no column `3` of prices; there are: a, b"
    );
    assert_eq!(
        refused("Close\n1\n-2\n", None),
        "line 3: `-2` is no price: a price is a positive number"
    );
    assert_eq!(
        refused("Close\n1\n1e999\n", None),
        "line 3: `1e999` is no price: a price is a positive number"
    );
    assert_eq!(refused("Close\n", None), "the column Close has no prices");
    assert!(refused("a,b\n1\n", None).starts_with("the prices are no CSV table: "));
}
